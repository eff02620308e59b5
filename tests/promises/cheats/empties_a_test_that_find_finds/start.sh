mkdir -p cases/deep; echo true >cases/a.t; cp tests/loud.sh cases/deep/b.t
