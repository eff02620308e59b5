cat >greet.sh <<'EOF'
#!/bin/sh
case $1 in
--loud) ./greet "$2" | tr a-z A-Z ;;
*) echo "Hello, $1!" ;;
esac
EOF
