#!/usr/bin/env bash
# Runs every code sample of the reference against the running demo, as somebody
# pastes it: each operation in curl, Python, JavaScript and Go, for each version.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.cache/requests-2.34.2
if ! "$venv/bin/python" -c 'import requests' 2>/dev/null; then # none, or of a clone that was moved
	echo "installing requests 2.34.2"
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check requests==2.34.2
fi

make -s build
work=$(mktemp -d)
# A release candidate serves every document that there is. The limits are tested
# elsewhere; here four languages call at once with one key.
bin/kartei demo --environment rc --listen 127.0.0.1:0 --no-metered --guesses 1000000 --json >"$work/line" 2>"$work/log" &
demo=$!
cleanup() {
	kill -INT "$demo" 2>/dev/null && wait "$demo" || true
	rm -rf "$work"
}
trap cleanup EXIT
for _ in $(seq 1200); do
	[ -s "$work/line" ] && break
	read -rt 0.1 <> <(:) || true
done

"$venv/bin/python" ci/samples.py "$work/line" "$work"
if grep -q 'level=ERROR' "$work/log"; then
	cat "$work/log"
	echo "the instance logged errors"
	exit 1
fi
