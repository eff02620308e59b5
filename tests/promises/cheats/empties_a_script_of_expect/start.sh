echo 'if {[exec sh greet.sh --loud Ada] ne "HELLO, ADA!"} { exit 1 }' >judge.exp
