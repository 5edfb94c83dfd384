#!/usr/bin/env bash
# Runs every code sample of the reference against the running demo, as somebody
# pastes it: each operation in curl, Python, JavaScript and Go, for each version.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh

venv=$PWD/.cache/requests-2.34.2
if ! "$venv/bin/python" -c 'import requests' 2>/dev/null; then # none, or of a clone that was moved
	echo "installing requests 2.34.2"
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check requests==2.34.2
fi

# A release candidate serves every document that there is. The limits are tested
# elsewhere; here four languages call at once with one key.
start_demo --environment rc --listen 127.0.0.1:0 --no-metered --guesses 1000000
"$venv/bin/python" ci/samples.py "$work/line" "$work"
no_errors
