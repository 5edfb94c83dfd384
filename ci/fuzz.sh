#!/usr/bin/env bash
# Runs each fuzz target for a short time (FUZZTIME, default 2s). Each has one worker, and as many
# run in parallel as there are processors. A failing input is written below testdata/fuzz of the
# package and belongs into the repository.
#
# Coverage guides the targets to new inputs, but needs all packages compiled again. For packages
# that use a database, this takes eight minutes of processor time. By default, their targets run
# without coverage, and the others have coverage of Kartei's packages only. With GUIDE=all, all
# targets have coverage of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."
house=$PWD work=$(mktemp -d)
export house work
trap 'rm -rf "$work"' EXIT

# overtime reports whether a run failed only because its time was over. Go before 1.27 has this
# defect (golang/go#75804). Such a run logs nothing else and writes no input.
overtime() {
	grep -qx ' *context deadline exceeded' "$1" && ! grep -Eq 'Failing input|panic:|_test\.go:' "$1"
}

# fuzz PACKAGE TARGET runs one target. It limits the minimization of an input, which may take a
# minute by default.
fuzz() {
	local package=$1 target=$2 log=$work/${1//\//-}.$2.log
	local program=guided/${package##*/}.test
	[ -e "$work/$program" ] || program=plain/${package##*/}.test
	cd "$house/$package"
	"$work/$program" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${FUZZTIME:-2s}" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$(go env GOCACHE)/fuzz/kartei/$package" -test.parallel 1 >"$log" 2>&1 || overtime "$log" || {
		cat "$log"
		return 1
	}
	if [[ $program = guided/* ]] && grep -q 'without coverage guidance' "$log"; then
		echo "fuzz $package $target: nothing guides it"
		return 1
	fi
	echo "fuzz $package $target"
}
export -f fuzz overtime

packages=() targets=()
for package in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do
	packages+=("./$package")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go); do
		targets+=("$package $target")
	done
done
# build compiles the targets of each package into a program with the last part of the package's
# path as its name. `go test -fuzz` accepts only one package at a time, so build passes its
# compiler flag itself.
build() {
	local package
	if [ "${GUIDE:-}" = all ]; then
		for package in "${packages[@]}"; do
			go test -c -fuzz Fuzz -ldflags=-w -o "$work/guided/${package##*/}.test" "$package"
		done
		return
	fi
	local heavy guided=() plain=()
	heavy=$(go list -test -f '{{range .Deps}}{{if eq . "kartei/store/db/sqlite"}}{{$.ImportPath}}{{"\n"}}{{end}}{{end}}' "${packages[@]}")
	for package in "${packages[@]}"; do
		if grep -qx "kartei/${package#./}\.test" <<<"$heavy"; then plain+=("$package"); else guided+=("$package"); fi
	done
	go test -c -gcflags=kartei/...=-d=libfuzzer -ldflags=-w -o "$work/guided/" "${guided[@]}"
	go test -c -vet=off -ldflags=-w -o "$work/plain/" "${plain[@]}"
}
mkdir "$work/guided" "$work/plain"
TIMEFORMAT='compiling took %R s, %U + %S s of processor time'
time build
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$0" "$1"'
