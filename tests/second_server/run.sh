#!/usr/bin/env bash
# Drives a session through a Messages API server that is not ours: @copilotkit/aimock (MIT), which npm installs for it. First
# undisturbed, then with connections that break and rate limits at random. To be run by hand; needs Node 20.15 and a registry:
#
#   cargo build --release && tests/second_server/run.sh
set -euo pipefail

readonly here=$(cd "$(dirname "$0")" && pwd)
readonly longhaul=${LONGHAUL:-$here/../../target/release/longhaul}
readonly work=$(mktemp -d)
server=

stop() {
    [[ -z $server ]] || kill "$server" 2>/dev/null || true
    server=
}
trap 'stop; rm -rf "$work"' EXIT

# Starts the server with these options; it prints the port that it got.
start() {
    local log=$work/server.log
    : >"$log"
    node "$work/node_modules/@copilotkit/aimock/dist/cli.js" --port 0 --fixtures "$here/session.json" --strict "$@" >"$log" 2>&1 &
    server=$!
    for _ in $(seq 100); do
        address=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$log" | head -n 1) && return
        sleep 0.1
    done
    cat "$log" >&2
    return 1
}

# Holds one run in a new project and looks at what is left of it.
play() {
    local name=$1 project=$work/$1
    mkdir "$project" && cd "$project"
    git init -q && git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m start
    "$longhaul" init >/dev/null 2>&1
    "$longhaul" feature add --id greeting --title 'A greeting by name' --check 'test "$(sh greet.sh Ada)" = "Hello, Ada!"' >/dev/null 2>&1
    ANTHROPIC_BASE_URL=$address ANTHROPIC_API_KEY=any "$longhaul" run --sessions 1 2>"$work/$name.log" || {
        cat "$work/$name.log" >&2
        return 1
    }
    "$longhaul" status --exit-code >/dev/null
    printf '%s: proven; asked again %s times\n' "$name" "$(grep -c 'asking again' "$work/$name.log" || true)"
}

cd "$work"
npm install --silent --no-audit --no-fund '@copilotkit/aimock@1.43' >/dev/null
export HOME=$work

start && play undisturbed && stop
start --chaos-disconnect 0.3 --chaos-ratelimit 0.2 --chaos-drop 0.2 && play disturbed && stop
