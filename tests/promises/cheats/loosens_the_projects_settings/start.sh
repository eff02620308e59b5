printf 'verify:\n\t@sh tests/loud.sh\n' >Makefile; printf '[gate]\nstrict = true\n' >longhaul.toml
