echo 'HELLO, ADA!' >lines.txt
