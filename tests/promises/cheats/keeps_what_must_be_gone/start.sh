touch lib/old.sh
