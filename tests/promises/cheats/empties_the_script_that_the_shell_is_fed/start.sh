echo '. ./tests/loud.sh' >verify.sh
