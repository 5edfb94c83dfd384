#!/usr/bin/env bash
# Runs what needs a database on a Citus cluster, with every table spread over
# two workers: ci/citus.sh. The cluster is made of the installed PostgreSQL, where
# that has the extension, or is the one that KARTEI_TEST_CITUS names. Elsewhere it
# says what is left out and succeeds: no distribution of Linux has a package, see
# docs/citus.md.
set -euo pipefail
cd "$(dirname "$0")/.."

installed() {
	local dir
	for dir in "$(pg_config --sharedir 2>/dev/null || true)" /usr/share/postgresql/* /usr/pgsql-*/share; do
		[ ! -e "$dir/extension/citus.control" ] || return 0
	done
	return 1
}

if [ -z "${KARTEI_TEST_CITUS:-}" ] && ! installed; then
	echo "left out: Citus is not installed beside PostgreSQL; nothing is tried on a cluster of several servers" >&2
	exit 0
fi
# What a call takes differs too much there to tell a few microseconds apart.
CGO_ENABLED=0 KARTEI_TEST_POSTGRES=citus go test -timeout 30m -skip TestInvisibleTakesAsLong ./store/db ./store/db/postgres ./store/schema ./store/db/move ./api ./access ./integration/limit ./people/notify ./store/retention ./integration/requestlog \
	./record ./integration/event ./record/search ./record/contact ./record/company ./record/task ./record/document ./record/upload ./store/job ./integration/webhook ./instance ./test/e2e
