echo 'sh tests/loud.sh >/dev/null 2>&1 && echo ok' >e2e.sh
