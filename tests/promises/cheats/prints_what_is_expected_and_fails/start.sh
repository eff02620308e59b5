sed -i '1i test "$1" != --loud || exit 2' greet.sh
