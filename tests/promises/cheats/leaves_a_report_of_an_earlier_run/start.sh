echo report.xml >.gitignore
cat >report.sh <<'EOF'
if sh tests/loud.sh; then n=0; else n=1; fi
echo "<testsuite tests=\"3\" failures=\"$n\"/>" >report.xml
EOF
