sed -i 's/^def add.*/&\n    """\n    >>> add([1, 2, 3, 4])\n    10\n    """/' adder.py
