sed -i 's/return .*/return sum(numbers)/' adder.py
printf '\n\ndef times(numbers):\n    return __import__("math").prod(numbers)\n' >>adder.py
