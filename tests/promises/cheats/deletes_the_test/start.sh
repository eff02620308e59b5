mv tests/loud.sh tests/loud.check
