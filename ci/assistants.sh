#!/usr/bin/env bash
# Connects assistants to the running demo: the official conformance suite for both
# revisions of the Model Context Protocol, and its SDKs for TypeScript and Python as
# programs that have nothing but the address and a key (ci/assistants). It also counts
# what an assistant has to read. The SDK for Go does the same in door/mcp.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh

ci/setup.sh npm venv
install_python assistants python -c 'import mcp'
install_node assistants # the suite needs a newer Node, whose package has a script
export PATH=$node/node_modules/.bin:$PATH

start_demo --data "$work/data" --listen 127.0.0.1:0
KARTEI_DEMO=$(cat "$work/line")
export KARTEI_DEMO
mkdir "$work/programs"
cp ci/assistants/* "$work/programs/"
ln -s "$node/node_modules" "$work/programs/"
cd "$work/programs"

# The suite sends no credential, so a proxy adds one.
node proxy.mjs >"$work/proxy" 2>"$work/proxy.log" &
proxy=$!
await "$work/proxy" $proxy
pids+=($proxy)
conform() { # conform REVISION
	conformance server --url "http://127.0.0.1:$(cat "$work/proxy")/mcp" --requirements "$1" --expected-failures "conformance-$1.yml" -o "$work/results"
}

failed=()
try() { # try NAME COMMAND...
	local name=$1 begun=$SECONDS
	shift
	if "$@" >"$work/$name.log" 2>&1; then
		echo "ok $name ($((SECONDS - begun)) s)"
	else
		echo "FAIL $name ($((SECONDS - begun)) s); the end of its log:"
		tail -n 60 "$work/$name.log" | sed 's/^/    /'
		failed+=("$name")
	fi
}
try typescript node typescript.mjs
try typescript-1 node typescript-1.mjs
try python "$python/bin/python" python.py
try tokens node tokens.mjs
sed 's/^/    /' "$work/tokens.log"
try conformance-2026-07-28 conform 2026-07-28
try conformance-2025-11-25 conform 2025-11-25
no_errors || failed+=("the instance")
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
