#!/usr/bin/env bash
# Reads the vCards of the running demo's contacts and companies with khard, in both versions, and
# compares all values with the records.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh
. ci/packages.sh

ci/setup.sh venv
install_python addressbooks python -c 'import khard'
start_demo --listen 127.0.0.1:0 --no-metered
python3 ci/addressbooks/prepare.py "$work/line" "$work"
"$python/bin/python" ci/addressbooks/with_khard.py "$work"
no_errors
