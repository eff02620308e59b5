echo 'HELLO, ADA!' >want.txt
