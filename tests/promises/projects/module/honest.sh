cat >sum.go <<'EOF'
package sum

func Sum(numbers ...int) int {
	sum := 0
	for _, number := range numbers {
		sum += number
	}
	return sum
}
EOF
