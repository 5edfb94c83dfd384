#!/usr/bin/env bash
# Runs what proves the statements, their plans and the moves of data on each
# version of PostgreSQL beside the installed one: ci/postgresql.sh. Without the
# versions it says so, and with CI=true it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

ci/setup.sh postgresql-versions
packages=(.cache/postgresql-16.14-17.10-18.4/node_modules/postgresql-*)
[ -e "${packages[0]}" ] || exit 0 # ci/setup.sh has named the loss

# The server's account may have no access to this folder.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
chmod 755 "$copy"
for package in "${packages[@]}"; do
	bin=$copy/$(basename "$package")/bin
	cp -r "$package/native" "$(dirname "$bin")"
	chmod -R a+rX "$copy"
	"$bin/postgres" --version
	# What runs on SQLite is left out: it is the same with each version.
	PATH=$bin:$PATH go test -short -run '/^postgres' -vet=off -ldflags=-w -timeout 10m \
		./store/db ./store/db/postgres ./store/schema ./store/replay ./record ./integration/requestlog
done
