mkdir -p tests
printf 'package tests\n\nfunc equal(one, other int) bool { return one == other }\n' >tests/equal.go
cat >tests/many_test.go <<'EOF'
package tests

import (
	"example.org/sum"
	"testing"
)

func TestMany(t *testing.T) {
	if !equal(sum.Sum(1, 2, 3, 4), 10) {
		t.Fatal("wrong")
	}
}
EOF
