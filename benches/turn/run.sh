#!/usr/bin/env bash
# What a turn costs beside the tool runner of Anthropic's Python SDK, which pip installs for it. By hand; needs Python 3.9
# with `venv`, and a registry: `benches/turn/run.sh [TURNS [ROUNDS]]`
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly venv=target/turn/venv
cargo build --release --locked
[[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'anthropic==2.14.0'
exec "$venv/bin/python" benches/turn/measure.py "$@"
