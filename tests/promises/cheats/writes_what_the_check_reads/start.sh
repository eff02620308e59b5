echo 'HELLO, ADA!' >loud
