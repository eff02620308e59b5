sed -i '1i if test -e tests/local.sh; then . ./tests/local.sh; fi' tests/loud.sh
