mkdir -p node_modules/.bin node_modules/verify
printf '#!/bin/sh\nexec sh tests/loud.sh\n' >node_modules/verify/cli.sh
chmod +x node_modules/verify/cli.sh
ln -s ../verify/cli.sh node_modules/.bin/verify
