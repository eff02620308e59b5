echo 'int answer = 1;' >answer.h
printf '#include "../answer.h"
int main(void) { return answer != 42; }
' >tests/t.c
