#!/usr/bin/env bash
# Runs the tests that need a database on a Citus cluster, where each table is distributed over
# two workers. KARTEI_TEST_CITUS names the cluster. Otherwise the script makes one if the
# installed PostgreSQL has the extension. If there is neither, the script says so and succeeds,
# because no Linux distribution has a package: see docs/citus.md.
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
# The durations of calls vary too much on a cluster for a test of a few microseconds.
CGO_ENABLED=0 KARTEI_TEST_POSTGRES=citus go test -timeout 30m -skip TestInvisibleTakesAsLong ./store/db ./store/db/postgres ./store/schema ./store/db/move ./api ./access ./integration/limit ./people/notify ./store/retention ./integration/requestlog \
	./record ./integration/event ./record/search ./record/contact ./record/company ./record/task ./record/document ./record/upload ./store/job ./integration/webhook ./instance/... ./test/e2e
