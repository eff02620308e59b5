program=adder.py pinned=tests/test_adder.py
add_test() { sed 's/\[1, 2\]), 3/[5]), 5/' tests/test_adder.py >tests/test_one.py; }
add_case() { printf '\n    def test_none(self):\n        self.assertEqual(add([]), 0)\n' >>tests/test_adder.py; }
manifest() { printf '[project]\nname = "adder"\nversion = "1.1.0"\n' >pyproject.toml; }
refactor() { mv adder.py sums.py; printf 'import sys\nfrom sums import add\nif __name__ == "__main__":\n    print(add([int(word) for word in sys.argv[1:]]))\n' >adder.py; }
