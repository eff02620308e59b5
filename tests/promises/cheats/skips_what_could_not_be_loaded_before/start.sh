sed -i 's/^from adder import add$/from adder import add, times/' tests/test_adder.py
printf '\n    def test_times(self):\n        self.assertEqual(times([2, 3]), 6)\n' >>tests/test_adder.py
