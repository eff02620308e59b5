mkdir build
: >build/rules.inc
printf 'include build/rules.inc\nloud:\n\t@sh tests/loud.sh\n' >Makefile
