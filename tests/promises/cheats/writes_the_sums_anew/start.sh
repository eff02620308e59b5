echo 'HELLO, ADA!' | sha256sum >sums.sha256
