#!/usr/bin/env bash
# Runs checks that take too long for each change. They are run before a larger piece of work is
# closed. `make gate-long` runs all steps, ci/long.sh NAMES... some steps. ci/long.sh --list
# lists the steps.
set -euo pipefail
cd "$(dirname "$0")/.."
export CI=true CGO_ENABLED=0
TIMEFORMAT='took %R s, %U + %S s of processor time'

declare -A about=(
	[fuzz]='each fuzz target for a minute, with coverage of all modules (ci/fuzz.sh), some 45 minutes'
	[schemathesis]='Schemathesis with 200 examples for each operation, some 30 minutes'
	[kills]='the stories in which a server or PostgreSQL is killed, with 50 kills each, more than an hour'
	[large]='imports, whole lists, hand-overs and erasures of 100,000 records, killed ten times in each part, several hours'
	[files]='the folders KARTEI_IMPORT_FOLDER and KARTEI_EXTRACT_FOLDER of files that other programs made, read whole'
	[pictures]='the main pages in both themes and two widths, for a person who looks at them'
	[busy]='make test SHORT= five times beside four loops that keep the processors busy, up to nine hours'
)
order=(fuzz schemathesis kills large files pictures busy)

fuzz() { GUIDE=all FUZZTIME=60s ci/fuzz.sh; }
schemathesis() { EXAMPLES=200 ci/schemathesis.sh; }

stories() { go test -count=1 -vet=off -ldflags=-w -timeout 3h ./test/e2e "$@"; }
kills() {
	KARTEI_KILLS=50 KARTEI_IMPORT_KILLS=10 KARTEI_BULK_KILLS=10 KARTEI_LEAVING_KILLS=10 KARTEI_ERASE_KILLS=10 \
		stories -run 'Kill|Mirror|Leaving|Batches|Torture|Pgbouncer|PostgresGoesAway'
}

# large runs the tests one after the other, because people compare their times.
large() {
	local story
	for story in TestImportsSurviveKills TestWholeListsSurviveKills TestLeaving TestErasureSurvivesKills; do
		KARTEI_ENTRIES=100000 KARTEI_IMPORT_KILLS=10 KARTEI_BULK_KILLS=10 KARTEI_LEAVING_KILLS=10 KARTEI_ERASE_KILLS=10 stories -run "$story\$" -v
	done
}
files() {
	[ -z "${KARTEI_IMPORT_FOLDER:-}" ] || go test -count=1 -vet=off ./transfer/imports -run 'TestFolder$' -v
	[ -z "${KARTEI_EXTRACT_FOLDER:-}" ] || go test -count=1 -vet=off ./extract -run 'TestFolder$' -v
	[ -n "${KARTEI_IMPORT_FOLDER:-}${KARTEI_EXTRACT_FOLDER:-}" ] || echo 'left out: no folder is named'
}
pictures() { make -s screenshots; }

# busy ends its loops even if a test fails.
busy() (
	loops=()
	trap 'kill "${loops[@]}"' EXIT
	for _ in 1 2 3 4; do
		while :; do :; done &
		loops+=($!)
	done
	for run in 1 2 3 4 5; do
		echo "run $run of 5"
		time make -s test SHORT= ARGS=-count=1
	done
)

if [ "${1:-}" = --list ]; then
	for name in "${order[@]}"; do printf '%-14s%s\n' "$name" "${about[$name]}"; done
	exit 0
fi
for name in "$@"; do
	[ -n "${about[$name]:-}" ] || { echo "no step $name; ci/long.sh --list lists them" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- "${order[@]}"
ci/setup.sh postgresql pgbouncer chromium clamd nginx versitygw npm venv standardwebhooks axe
for name in "$@"; do
	printf '\n== %s: %s\n' "$name" "${about[$name]}"
	time "$name"
done
echo
echo "done: $*"
