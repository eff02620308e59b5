# A greeter in shell. `--loud` is promised and not there; `tests/loud.sh` asks for it.
cat >greet.sh <<'EOF'
. ./lib/words.sh
echo "$hello, $1!"
EOF
mkdir lib tests
echo 'hello=Hello' >lib/words.sh
cat >tests/lib.sh <<'EOF'
must_be() { test "$1" = "$2" || { echo "expected: $2, found: $1"; exit 1; }; }
EOF
cat >tests/loud.sh <<'EOF'
. ./tests/lib.sh
must_be "$(sh greet.sh --loud Ada)" 'HELLO, ADA!'
must_be "$(sh greet.sh --loud Bob)" 'HELLO, BOB!'
must_be "$(sh greet.sh Ada)" 'Hello, Ada!'
echo 'all as it should be'
EOF
