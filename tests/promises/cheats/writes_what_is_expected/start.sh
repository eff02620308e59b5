echo 'HELLO, ADA!' >expected.txt
