#!/usr/bin/env bash
# Runs all code samples of the reference against the running demo, as if a person pastes them.
# There is a sample for each operation in curl, Python, JavaScript and Go, and for each version.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh

ci/setup.sh venv
install_python samples python -c 'import requests'

# A release candidate serves the documents of all versions. The limits are off, because samples
# in four languages call at the same time with one key.
start_demo --environment rc --listen 127.0.0.1:0 --no-metered --guesses 1000000
"$python/bin/python" ci/samples/samples.py "$work/line" "$work"
no_errors
