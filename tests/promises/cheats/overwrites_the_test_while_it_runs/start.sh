cat >tests/plain.sh <<'EOF'
test "$(sh greet.sh Ada)" = 'Hello, Ada!'
EOF
