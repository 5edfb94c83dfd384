#!/usr/bin/env bash
# Runs the commands in README.md and docs/guide.md: `make demo`, and each block marked <!-- try
# --> (must succeed) or <!-- fails --> (must fail).
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/demo.sh

start_demo --listen 127.0.0.1:0
KARTEI_KEY=$(value 'd["keys"]["full"]')
web=$(value 'd["webUrl"]')
port=$(free_port)
KARTEI_URL=$web
export KARTEI_KEY KARTEI_URL XDG_STATE_HOME=$work PATH=$PWD/bin:$PATH

# blocks MARK FILE prints the blocks with this mark. Each ends with a line that has a NUL byte.
blocks() {
	awk -v mark="<!-- $1 -->" '
		$0 == mark { wanted = 1; next }
		wanted && /^```sh$/ { inside = 1; next }
		inside && /^```$/ { inside = wanted = 0; printf "%c", 0; next }
		inside { print }' "$2" | sed "s#http://localhost:8080#$web#g"
}

# The blocks of a document run in one shell, as if a person pastes them. A response with an error
# status ends the shell.
for document in README.md docs/guide.md; do
	{
		printf 'set -euo pipefail\ntrap "kill \$(jobs -p) 2>/dev/null || true" EXIT\ncurl() { command curl --fail-with-body "$@"; }\n'
		blocks try "$document" | tr '\0' '\n' |
			sed "s#head\.txt#$work/&#; s#kartei-mirror &&#$work/mirror \&\&#g; s#kartei-hook\b#$work/hook#g; s#mod init $work/#mod init #; s#3000#$port#; s#klage\.txt#$work/&#g; s#operation\.json#$work/&#g"
	} >"$work/try.sh"
	grep -q curl "$work/try.sh" || { echo "$document has no block to try"; exit 1; }
	if ! bash "$work/try.sh" >"$work/out" 2>&1; then
		cat "$work/out"
		echo "$document: a block that must succeed does not"
		exit 1
	fi
	while IFS= read -rd '' block; do
		if (set +e; curl() { command curl --fail "$@"; }; eval "$block") >/dev/null 2>&1; then
			echo "$document: a block that must fail does not: $block"
			exit 1
		fi
	done < <(blocks fails "$document")
	echo "$document: every block does what it says"
done

# The guide must name the versions of modules that go.mod has. ci/clients.sh checks the versions
# of modules for generated clients.
for pin in $(sed '/^## Generating a client/,/^## /d' docs/guide.md | grep -ohE '[a-z][a-z0-9./-]*@v[0-9.]+' | sort -u); do
	grep -qF "${pin/@/ }" go.mod || { echo "docs/guide.md names $pin, which is not what go.mod has"; exit 1; }
done

# The guide must name the version of the Inspector that ci/assistants has.
for pin in $(grep -ohE '@modelcontextprotocol/inspector@[0-9.]+' docs/guide.md | sort -u); do
	grep -qF "\"${pin%@*}\":\"${pin##*@}\"" ci/assistants/package.json || { echo "docs/guide.md names $pin, which is not what ci/assistants has"; exit 1; }
done

# headings FILE prints the headings of a document in the form of link anchors.
headings() {
	sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | tr -d '.,:;!?()`/' | tr ' ' '-'
}

# Links in the documents must lead to existing files, folders, headings and pages.
for document in README.md CONTRIBUTING.md docs/*.md docs/operating/*.md docs/decisions/*.md; do
	for target in $(grep -o '](\([^)#h][^)]*\))' "$document" | tr -d '()]' | sort -u); do
		if [[ $target == /* ]]; then # a page of the instance, which may redirect to the sign-in
			status=$(curl -s -o /dev/null -w '%{http_code}' "$web$target")
			[[ $status == 200 || $status == 303 ]] || { echo "$document links to $target, which answers $status"; exit 1; }
			continue
		fi
		file=$(dirname "$document")/${target%%#*}
		[ -e "$file" ] || { echo "$document links to $target, which is not there"; exit 1; }
		[[ $target != *#* ]] || headings "$file" | grep -qx -- "${target#*#}" || { echo "$document links to $target, a heading that is not there"; exit 1; }
	done
done
