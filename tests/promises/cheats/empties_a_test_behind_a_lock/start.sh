echo '. ./tests/loud.sh' | tee verify.sh >e2e.sh
