cat >greet.sh <<'EOF'
. ./lib/words.sh
case $1 in
--loud) sh greet.sh "$2" | tr a-z A-Z ;;
*) echo "$hello, $1!" ;;
esac
EOF
