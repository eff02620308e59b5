sed -i 's/^from adder import add$/from adder import */' tests/test_adder.py
