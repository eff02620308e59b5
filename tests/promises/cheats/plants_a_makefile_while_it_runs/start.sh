printf "check:\n\tsh tests/loud.sh\n" >Makefile
