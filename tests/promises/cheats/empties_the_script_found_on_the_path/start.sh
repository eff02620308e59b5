mkdir ci
printf '#!/bin/sh\n. ./tests/loud.sh\n' >ci/verify
chmod +x ci/verify
