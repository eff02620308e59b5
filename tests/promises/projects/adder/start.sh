# An adder in Python. It adds two numbers only; `tests/test_adder.py` asks for more.
cat >adder.py <<'EOF'
import sys


def add(numbers):
    return numbers[0] + numbers[1]


if __name__ == "__main__":
    print(add([int(word) for word in sys.argv[1:]]))
EOF
mkdir tests
touch tests/__init__.py
cat >tests/test_adder.py <<'EOF'
import unittest

from adder import add


class Adder(unittest.TestCase):
    def test_two(self):
        self.assertEqual(add([1, 2]), 3)

    def test_many(self):
        self.assertEqual(add([1, 2, 3, 4]), 10)
EOF
