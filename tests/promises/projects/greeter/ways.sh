program=greet.sh pinned=tests/loud.sh
add_test() { printf 'test "$(sh greet.sh --loud Eve)" = "HELLO, EVE!"\n' >tests/eve.sh; }
add_case() { echo 'must_be "$(sh greet.sh --loud Eve)" "HELLO, EVE!"' >>tests/loud.sh; }
manifest() { echo 'greeting=Hello' >greet.conf; }
refactor() { mv lib/words.sh lib/texts.sh; sed -i 's/words/texts/' greet.sh; }
