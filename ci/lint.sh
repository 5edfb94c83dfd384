#!/usr/bin/env bash
# Checks the sources: gofmt, large files, frozen documents, modules, templates, go vet and two
# linters. Tools are installed into .cache once. ci/lint-openapi.sh checks the content of the
# OpenAPI documents.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$PWD/.cache/tools
install() { # install MODULE/PATH VERSION
	local name=${1##*/} stamp
	stamp=$tools/$name-$2-$(go env GOVERSION)
	if [ ! -e "$stamp" ]; then
		echo "installing $name $2"
		mkdir -p "$tools"
		GOBIN=$tools GOFLAGS= go install "$1@$2"
		touch "$stamp"
	fi
}

unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
	printf 'not in the form of gofmt:\n%s\n' "$unformatted"
	exit 1
fi
large=$(git ls-tree -r -l HEAD | awk '$4 > 1048576')
if [ -n "$large" ]; then
	printf 'larger than 1 MiB, which every clone would carry for ever:\n%s\n' "$large"
	exit 1
fi
ci/frozen.sh
go mod verify >/dev/null
go mod tidy -diff
[ "$(go list -m -f '{{.Version}}' github.com/a-h/templ)" = "$(go list -m -modfile=ci/tools/go.mod -f '{{.Version}}' github.com/a-h/templ)" ] || {
	echo "ci/tools/go.mod has another version of templ than go.mod"
	exit 1
}
ci/deploy.sh
make -s pages 2>/dev/null
git diff --exit-code --stat -- '*_templ.go' || {
	echo "the Go of these templates is not what their text says: make pages"
	exit 1
}
go vet ./...
install honnef.co/go/tools/cmd/staticcheck v0.8.2
"$tools/staticcheck" ./...
install github.com/golangci/golangci-lint/v2/cmd/golangci-lint v2.15.0
"$tools/golangci-lint" run ./... 2>&1 | tee "$tools/findings"
if grep 'Skipped 0 issues' "$tools/findings"; then
	echo ".golangci.yml has an exception that excepts nothing"
	exit 1
fi
