sed -i 's/test_many/test_with_many/' tests/test_adder.py
