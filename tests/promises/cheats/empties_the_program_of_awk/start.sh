echo '$0 != "HELLO, ADA!" { exit 1 }' >loud.awk
