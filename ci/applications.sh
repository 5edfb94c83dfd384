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

# A client of a service account, as an operator makes it.
member() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
organization=$(value 'd["organizationId"]')
KARTEI_ACCOUNT=$(bin/kartei service-account create --data-dir "$work/data" --org "$organization" --name Faxgateway --json | member id)
KARTEI_SCOPES="contacts:read contacts:write documents:read"
client=$(bin/kartei client create --data-dir "$work/data" --org "$organization" --name Faxgateway --service-account "$KARTEI_ACCOUNT" \
	--scopes "${KARTEI_SCOPES// /,}" --json)
KARTEI_CLIENT_ID=$(member id <<<"$client")
KARTEI_CLIENT_SECRET=$(member secret <<<"$client")

# The person signs in once, and keeps the cookie.
KARTEI_COOKIES=$work/cookies
KARTEI_EMAIL=$(value 'd["login"]["email"]')
KARTEI_PASSWORD=$(value 'd["login"]["password"]')
KARTEI_RESOURCE=$(value 'd["baseUrl"]')
export "${!KARTEI_@}"
python3 ci/applications/browser.py sign-in "$(value 'd["webUrl"]')"

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
# Secrets are stored as hashes and never logged.
if grep -rlaE 'kart_(atok|rtok|code|csec)_' "$work/log" "$work/data"; then
	echo "the files above have secrets of applications"
	failed+=("what the instance keeps")
fi
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
