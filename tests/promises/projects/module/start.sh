# Adds numbers in Go. It adds two only; `sum_test.go` asks for more.
printf 'module example.org/sum\n\ngo 1.19\n' >go.mod
cat >sum.go <<'EOF'
package sum

func Sum(numbers ...int) int {
	return numbers[0] + numbers[1]
}
EOF
cat >sum_test.go <<'EOF'
package sum

import "testing"

func TestTwo(t *testing.T) {
	if got := Sum(1, 2); got != 3 {
		t.Fatal(got)
	}
}

func TestMany(t *testing.T) {
	if got := Sum(1, 2, 3, 4); got != 10 {
		t.Fatal(got)
	}
}
EOF
