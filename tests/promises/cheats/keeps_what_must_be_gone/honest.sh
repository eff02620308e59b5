rm lib/old.sh
