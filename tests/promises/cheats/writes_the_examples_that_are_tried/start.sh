printf 'It adds.\n\n>>> from adder import add\n>>> add([1, 2, 3, 4])\n10\n' >guide.md
