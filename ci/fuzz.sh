#!/usr/bin/env bash
# Runs every fuzz target for a short time (FUZZTIME, default 4s), as many at the same
# time as there are processors, each with one worker. What one finds is written below
# testdata/fuzz of its package and belongs into the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
house=$PWD work=$(mktemp -d)
export house work
trap 'rm -rf "$work"' EXIT

# Until Go 1.27 a run may fail because its time is over (golang/go#75804): then
# that is all that it says, and it has written no input.
overtime() {
	grep -qx ' *context deadline exceeded' "$1" && ! grep -Eq 'Failing input|panic:|_test\.go:' "$1"
}

# fuzz runs one target of a package. By default a minute may go by with making one
# input smaller.
fuzz() {
	local package=$1 target=$2 log=$work/${1//\//-}.$2.log
	cd "$house/$package"
	"$work/${package//\//-}" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${FUZZTIME:-4s}" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$(go env GOCACHE)/fuzz/kartei/$package" -test.parallel 1 >"$log" 2>&1 || overtime "$log" || {
		cat "$log"
		return 1
	}
	echo "fuzz $package $target"
}
export -f fuzz overtime

targets=()
for package in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do
	go test -c -fuzz Fuzz -o "$work/${package//\//-}" "./$package"
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go); do
		targets+=("$package $target")
	done
done
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$0" "$1"'
