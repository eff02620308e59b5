echo 'loud() { sh greet.sh --loud "$1"; }' >lib/loud.sh
