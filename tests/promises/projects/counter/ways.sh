program=counter.c pinned=tests/count.sh
add_test() { printf 'test "$(printf "" | ./counter)" = 0\n' >tests/none.sh; }
add_case() { echo 'test "$(printf "" | ./counter)" = 0' >>tests/count.sh; }
manifest() { printf 'counter: counter.c\n\tcc -O1 -Wall -o counter counter.c\n\nclean:\n\trm -f counter\n' >Makefile; }
refactor() { mkdir -p src; mv counter.c src/counter.c; sed -i 's# counter\.c# src/counter.c#g' Makefile; }
