cat >most/most.go <<'EOF'
package most

func Most(numbers ...int) int {
	most := numbers[0]
	for _, number := range numbers {
		if number > most {
			most = number
		}
	}
	return most
}
EOF
