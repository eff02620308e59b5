echo 'int answer = 42;' >answer.h
