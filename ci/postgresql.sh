#!/usr/bin/env bash
# Runs the tests of statements, of their plans, and of moves of data on each further version of
# PostgreSQL. If these versions are not installed, the script says so, or fails if CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

ci/setup.sh postgresql-versions
packages=(.cache/postgresql-16.14-17.10-18.4/node_modules/postgresql-*)
[ -e "${packages[0]}" ] || exit 0 # ci/setup.sh has said what is not tested

# PostgreSQL runs as another user, who may have no access to the folder of the repository.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
chmod 755 "$copy"
for package in "${packages[@]}"; do
	bin=$copy/$(basename "$package")/bin
	cp -r "$package/native" "$(dirname "$bin")"
	chmod -R a+rX "$copy"
	"$bin/postgres" --version
	# Tests on SQLite are left out, because the version of PostgreSQL does not matter to them.
	PATH=$bin:$PATH go test -short -run '/^postgres' -vet=off -ldflags=-w -timeout 10m \
		./store/db ./store/db/postgres ./store/schema ./store/replay ./record ./integration/requestlog
done
