#!/usr/bin/env bash
# Prints the notes of a version from CHANGELOG.md: notes.sh VERSION. Fails if the version has no date
# there.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?notes.sh VERSION}
grep -Eq "^## ${version//./\\.} - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md || {
	echo "CHANGELOG.md has no entry '## $version - DATE'" >&2
	exit 1
}
awk -v begin="## $version - " 'index($0, begin) == 1 { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md
