#!/usr/bin/env bash
# Runs every fuzz target for a short time (FUZZTIME, default 5s). What one finds
# is written below testdata/fuzz of its package and belongs into the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache

# Until Go 1.27 a run may fail because its time is over (golang/go#75804): then
# that is all that it says, and it has written no input.
overtime() {
	grep -qx ' *context deadline exceeded' .cache/fuzz.log && ! grep -Eq 'Failing input|panic:|_test\.go:' .cache/fuzz.log
}

for package in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go); do
		echo "fuzz $package $target"
		# By default a minute may go by with making one input smaller.
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-5s}" -fuzzminimizetime 10x "./$package" >.cache/fuzz.log 2>&1 || overtime || {
			cat .cache/fuzz.log
			exit 1
		}
	done
done
