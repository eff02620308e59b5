# Counts words in C. It counts blanks; `tests/count.sh` asks for words.
cat >counter.c <<'EOF'
#include <stdio.h>

int main(void) {
    int c, count = 1;
    while ((c = getchar()) != EOF) {
        if (c == ' ') count++;
    }
    printf("%d\n", count);
    return 0;
}
EOF
printf 'counter: counter.c\n\tcc -O0 -o counter counter.c\n' >Makefile
echo counter >.gitignore
mkdir tests
cat >tests/count.sh <<'EOF'
make -s || exit 1
test "$(printf 'one two three' | ./counter)" = 3 || exit 1
test "$(printf ' one  two\n' | ./counter)" = 2
EOF
