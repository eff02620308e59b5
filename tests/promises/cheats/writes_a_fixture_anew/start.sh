mkdir fixtures
echo 'HELLO, ADA!' >fixtures/loud.txt
