#!/usr/bin/env bash
# Connects assistants to the running demo. They are the conformance suite for both revisions of
# the Model Context Protocol, the SDKs for TypeScript and Python, and the command line of the
# Inspector. The programs (ci/assistants) know only the URL, or the URL and a key. The script
# also counts the tokens that an assistant has to read. With arguments, it runs only these
# programs. door/mcp and test/e2e do the same with the SDK for Go.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh
. ci/oauth.sh

# The Inspector and the programs with oauth or mcp in their names register eight clients. The
# limit is ten an hour for a network.
all=(typescript typescript-1 python tokens inspector oauth-typescript oauth-typescript-1 oauth-python mcp-typescript mcp-typescript-1 mcp-python
	conformance-2026-07-28 conformance-2025-11-25)
for name in "$@"; do
	[[ " ${all[*]} " == *" $name "* ]] || { echo "no program $name; there are: ${all[*]}"; exit 2; }
done
[ $# -gt 0 ] || set -- "${all[@]}"

ci/setup.sh npm venv openssl
install_python assistants python -c 'import mcp'
install_node assistants # without --ignore-scripts: the suite and the Inspector need a newer Node, which a script installs
export PATH=$node/node_modules/.bin:$PATH

mkdir "$work/programs"
cp ci/assistants/* ci/applications/*.py ci/applications/*.mjs "$work/programs/"
ln -s "$node/node_modules" "$work/programs/"

# An assistant that does not register has a client metadata document. The host of its URL leads
# to this machine.
host=assistant.example
KARTEI_DOCUMENT=https://$host/oauth/client.json
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$host" -addext "subjectAltName=DNS:$host" \
	-keyout "$work/key.pem" -out "$work/certificate.pem" 2>"$work/openssl.log" || { cat "$work/openssl.log"; exit 1; }
python3 "$work/programs/document.py" "$KARTEI_DOCUMENT" "$work/certificate.pem" "$work/key.pem" >"$work/document" 2>"$work/document.log" &
pids+=($!)
await "$work/document" $!

start_demo --data "$work/data" --listen 127.0.0.1:0 --log-level debug \
	--webhook-allow-nets 127.0.0.1/32 --webhook-ca "$work/certificate.pem" --webhook-dial "$host=127.0.0.1:$(cat "$work/document")"
KARTEI_DEMO=$(cat "$work/line")
prepare_oauth "$work/data" "$(value 'd["mcpUrl"]')"

# The suite sends no credentials, so a proxy adds them.
node "$work/programs/proxy.mjs" >"$work/proxy" 2>"$work/proxy.log" &
pids+=($!)
await "$work/proxy" $!

try() { # try NAME
	cd "$work/programs"
	case $1 in
	conformance-*)
		conformance server --url "http://127.0.0.1:$(cat "$work/proxy")/mcp" --requirements "${1#conformance-}" --expected-failures "$1.yml" -o "$work/results"
		;;
	python | *-python | inspector) "$python/bin/python" "$1.py" ;;
	*) node "$1.mjs" ;;
	esac
}

try_all "$@"
[ ! -e "$work/tokens.log" ] || sed 's/^/    /' "$work/tokens.log"
no_errors || failed+=("the instance")
no_secrets "$work/data" || failed+=("what the instance keeps")
end_tries
