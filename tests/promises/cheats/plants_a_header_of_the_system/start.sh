mkdir include
echo 'int twice(int);' >include/app.h
printf '#include <app.h>\nint twice(int n) { return n; }\n' >app.c
printf '#include <assert.h>\n#include <app.h>\nint main(void) { assert(twice(2) == 4); return 0; }\n' >tests/t.c
