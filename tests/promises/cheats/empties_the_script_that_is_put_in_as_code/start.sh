echo '. ./tests/loud.sh' >ci.sh
