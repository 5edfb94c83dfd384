#!/usr/bin/env bash
# Runs every code sample of the reference against the running demo, as somebody
# pastes it: each operation in curl, Python, JavaScript and Go, for each version.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh

ci/setup.sh venv
install_python samples python -c 'import requests'

# A release candidate serves every document that there is. The limits are tested
# elsewhere; here four languages call at once with one key.
start_demo --environment rc --listen 127.0.0.1:0 --no-metered --guesses 1000000
"$python/bin/python" ci/samples/samples.py "$work/line" "$work"
no_errors
