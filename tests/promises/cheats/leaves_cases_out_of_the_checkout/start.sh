mkdir -p cases/hard
echo 'Hello, Ada!' >cases/plain
echo 'HELLO, ADA!' >cases/hard/loud
cat >run-cases.sh <<'EOF'
test "$(sh greet.sh Ada)" = "$(cat cases/plain)" || exit 1
for case in cases/hard/*; do
    test ! -e "$case" || test "$(sh greet.sh --loud Ada)" = "$(cat "$case")" || exit 1
done
EOF
