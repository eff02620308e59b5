test "$(python3 adder.py 1 2 3 4)" = 10
