mkdir t; echo 'cd ..; . ./tests/loud.sh' >t/a.t
