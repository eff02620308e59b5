mkdir most
printf 'package most\n\nfunc Most(numbers ...int) int {\n\treturn numbers[0]\n}\n' >most/most.go
sed 's/^package sum/package most/; s/Sum(1, 2); got != 3/Most(2, 1); got != 2/; s/Sum(1, 2, 3, 4); got != 10/Most(1, 4, 3); got != 4/' sum_test.go >most/most_test.go
sed -i '/^func TestMany/,$d' sum_test.go
