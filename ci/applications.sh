#!/usr/bin/env bash
# Connects applications to the running demo with OAuth libraries of others. A program
# (ci/applications/NAME.mjs or NAME.py) knows only the address of the API: it finds
# the server, registers, gets the consent of a person, calls, refreshes and revokes.
# With arguments the step runs only the programs named. The Go library does the same
# in test/e2e/applications_test.go.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh
. ci/oauth.sh

# Together they register eight applications; a network may register ten an hour.
all=(oauth4webapi openid-client authlib-requests mcp-typescript mcp-typescript-1 mcp-python)
for name in "$@"; do
	[[ " ${all[*]} " == *" $name "* ]] || { echo "no program $name; there are: ${all[*]}"; exit 2; }
done
[ $# -gt 0 ] || set -- "${all[@]}"

ci/setup.sh npm venv
install_python applications python -c 'import authlib, mcp, requests'
install_node applications --ignore-scripts

start_demo --data "$work/data" --listen 127.0.0.1:0 --log-level debug

prepare_oauth "$work/data" "$(value 'd["baseUrl"]')"

mkdir "$work/programs"
cp ci/applications/*.py ci/applications/*.mjs "$work/programs/"
ln -s "$node/node_modules" "$work/programs/"

try() { # try NAME
	cd "$work/programs"
	case $(echo "$1".*) in
	*.py) "$python/bin/python" "$1.py" ;;
	*) node "$1.mjs" ;;
	esac
}

failed=()
for name in "$@"; do
	begun=$SECONDS
	if (try "$name") >"$work/$name.log" 2>&1; then
		echo "ok $name ($((SECONDS - begun)) s)"
	else
		echo "FAIL $name ($((SECONDS - begun)) s); the end of its log:"
		tail -n 40 "$work/$name.log" | sed 's/^/    /'
		failed+=("$name")
	fi
done
no_errors || failed+=("the instance")
no_secrets "$work/data" || failed+=("what the instance keeps")
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
