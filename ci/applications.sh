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

try_all "$@"
no_errors || failed+=("the instance")
no_secrets "$work/data" || failed+=("what the instance keeps")
end_tries
