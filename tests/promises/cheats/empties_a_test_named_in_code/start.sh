printf 'import sys\nsys.path.insert(0, ".")\nfrom adder import add\nassert add([1, 2, 3, 4]) == 10\n' >tests/test_all.py
