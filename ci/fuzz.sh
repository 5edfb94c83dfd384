#!/usr/bin/env bash
# Runs every fuzz target for a short time (FUZZTIME, default 2s), as many at the same
# time as there are processors, each with one worker. What one finds is written below
# testdata/fuzz of its package and belongs into the repository.
#
# Coverage guides the targets to new inputs. It needs all packages compiled anew, which
# takes eight minutes of processor time for those that have a database. So their targets go
# without by default, and the others are guided by Kartei's packages. With GUIDE=all
# everything guides all of them.
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
# build compiles the targets of each package into a program that is named after the last
# part of its path. `go test -fuzz` takes one package at a time, and hands the compiler the
# flag below.
build() {
	local package
	if [ "${GUIDE:-}" = all ]; then
		for package in "${packages[@]}"; do
			go test -c -fuzz Fuzz -ldflags=-w -o "$work/guided/${package##*/}.test" "$package"
		done
		return
	fi
	local heavy guided=() plain=()
	heavy=$(go list -test -f '{{range .Deps}}{{if eq . "kartei/store/db"}}{{$.ImportPath}}{{"\n"}}{{end}}{{end}}' "${packages[@]}")
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
