sed -i 's/b"hello, ada!"/b"HELLO, ADA!"/' serve.py
