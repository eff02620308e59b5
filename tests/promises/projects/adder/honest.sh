sed -i 's/return .*/return sum(numbers)/' adder.py
