echo 'sh greet.sh Ada' >tests/plain.sh
