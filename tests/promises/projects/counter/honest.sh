cat >counter.c <<'EOF'
#include <ctype.h>
#include <stdio.h>

int main(void) {
    int c, count = 0, inside = 0;
    while ((c = getchar()) != EOF) {
        if (!isspace(c) && !inside) count++;
        inside = !isspace(c);
    }
    printf("%d\n", count);
    return 0;
}
EOF
