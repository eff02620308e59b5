mkdir more
printf 'import adder\n\n\ndef test_one_and_one():\n    assert adder.add([1, 1]) == 2\n' >more/test_more.py
printf 'import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n' >conftest.py
