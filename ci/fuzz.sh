#!/usr/bin/env bash
# Runs every fuzz target for a short time (FUZZTIME, default 5s). What one finds
# is written below testdata/fuzz of its package and belongs into the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache

for package in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go); do
		echo "fuzz $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-5s}" "./$package" >.cache/fuzz.log 2>&1 || {
			cat .cache/fuzz.log
			exit 1
		}
	done
done
