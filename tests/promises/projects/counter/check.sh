make -s || exit 1
test "$(printf ' one  two\n' | ./counter)" = 2
