#!/usr/bin/env bash
# Checks all OpenAPI documents with the linters Spectral, Redocly and vacuum. These are the
# frozen documents, and the documents that an instance serves in both languages, including the
# one for the reference. Any finding fails. ci/openapi has the pinned versions and the rules of
# the linters. The tools are installed into .cache once.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh

tools=$PWD/.cache/openapi
mkdir -p "$tools"

ci/setup.sh npm
lock=$(sha256sum <ci/openapi/package-lock.json | cut -c1-16)
if [ ! -e "$tools/npm-$lock" ]; then
	echo "installing Spectral and Redocly"
	cp ci/openapi/package.json ci/openapi/package-lock.json "$tools/"
	npm ci --prefix "$tools" --no-audit --no-fund --ignore-scripts --loglevel=error
	touch "$tools/npm-$lock"
fi
sum=$(sha256sum <ci/openapi/go.sum | cut -c1-16)
if [ ! -e "$tools/vacuum-$sum" ]; then
	echo "installing vacuum"
	(cd ci/openapi && GOFLAGS= CGO_ENABLED=0 go build -o "$tools/vacuum-$sum" github.com/daveshanley/vacuum)
fi

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
status=0
check() { # check NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$tools/log" 2>&1; then
		echo "ok $name"
	else
		echo "FAIL $name"
		cat "$tools/log"
		status=1
	fi
}
# These are the documents as an instance serves them. A release candidate serves all versions.
# The linters want a server URL with https.
web=http://127.0.0.1:$(free_port)
start_demo --environment rc --listen "${web#http://}" --base-url https://kartei.example
served=()
for document in api/openapi/2*.json; do
	version=$(basename "$document" .json)
	for language in de en; do
		for name in openapi reference; do
			served+=("$work/$name-$version-$language.json")
			curl -sSf -o "${served[-1]}" "$web/docs/$name.json?version=$version&lang=$language"
		done
	done
done

for document in api/openapi/2*.json "${served[@]}"; do
	check "spectral $(basename "$document")" "$tools/node_modules/.bin/spectral" lint --ruleset ci/openapi/spectral.yaml --fail-severity hint "$document"
	check "redocly $(basename "$document")" "$tools/node_modules/.bin/redocly" lint --config ci/openapi/redocly.yaml "$document"
	check "vacuum $(basename "$document")" "$tools/vacuum-$sum" lint --ruleset ci/openapi/vacuum.yaml --details --all-results --no-banner --no-style --no-clip --no-update-check \
		--remote=false --timeout 60 --min-score 100 --fail-severity hint "$document"
done
exit $status
