#!/usr/bin/env bash
# Connects applications to the running demo with third-party OAuth libraries. Each program
# (ci/applications/NAME.mjs or NAME.py) knows only the URL of the API. It finds the authorization
# server, registers, and gets the consent of a person. Then it calls the API, and refreshes and
# revokes its tokens. With arguments, the script runs only these programs.
# test/e2e/applications_test.go does the same with the Go library.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh
. ci/oauth.sh

# The programs register eight clients together. The limit is ten an hour for a network.
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
