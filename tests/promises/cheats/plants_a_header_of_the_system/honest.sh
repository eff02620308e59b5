printf '#include <app.h>\n#include <two.h>\nint twice(int n) { return TWO * n; }\n' >app.c
echo '#define TWO 2' >include/two.h
