#!/usr/bin/env bash
# Holds the frozen documents to three linters: Spectral, Redocly and vacuum.
# Any finding fails. Versions are pinned below ci/openapi, where each linter
# also has its rules; the tools are installed into .cache once.
set -euo pipefail
cd "$(dirname "$0")/.."

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
for document in api/openapi/*.json; do
	check "spectral $document" "$tools/node_modules/.bin/spectral" lint --ruleset ci/openapi/spectral.yaml --fail-severity hint "$document"
	check "redocly $document" "$tools/node_modules/.bin/redocly" lint --config ci/openapi/redocly.yaml "$document"
	check "vacuum $document" "$tools/vacuum-$sum" lint --ruleset ci/openapi/vacuum.yaml --details --all-results --no-banner --no-style --no-clip --no-update-check \
		--remote=false --timeout 60 --min-score 100 --fail-severity hint "$document"
done
exit $status
