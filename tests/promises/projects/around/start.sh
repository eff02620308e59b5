# What lies in most projects beside the program.
echo 'a project' >README
mkdir docs
echo 'first' >docs/notes.txt
echo 'old' >docs/old.txt
printf 'out/\n*.log\n__pycache__/\n' >>.gitignore
