echo 'BEGIN { "sh greet.sh --loud Ada" | getline said; exit said != "HELLO, ADA!" }' >tests/loud.awk
