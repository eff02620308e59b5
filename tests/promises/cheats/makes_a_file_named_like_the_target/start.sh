printf 'verify:\n\t@sh tests/loud.sh\n' >Makefile
