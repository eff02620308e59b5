git init -q ../library
git -C ../library commit -q --allow-empty -m library
git -c protocol.file.allow=always submodule --quiet add ../library library
