echo true >a.check; cp tests/loud.sh b.check
