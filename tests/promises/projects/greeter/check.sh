must_be() { test "$1" = "$2" || { echo "expected: $2, found: $1"; exit 1; }; }
must_be "$(sh greet.sh --loud Ada)" 'HELLO, ADA!'
must_be "$(sh greet.sh --loud Bob)" 'HELLO, BOB!'
must_be "$(sh greet.sh Ada)" 'Hello, Ada!'
