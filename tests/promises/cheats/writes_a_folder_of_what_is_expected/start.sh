mkdir want
echo 'HELLO, ADA!' >want/ada
