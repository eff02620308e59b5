cat >tests/loaded.sh <<'EOF'
. ./lib/words.sh
must_be() { test "$1" = "$2" || { echo "expected: $2, found: $1"; exit 1; }; }
must_be "$(sh greet.sh --loud Ada)" 'HELLO, ADA!'
echo 'all as it should be'
EOF
