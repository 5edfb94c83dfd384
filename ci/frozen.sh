#!/usr/bin/env bash
# A published OpenAPI document never changes but by additions. Its checksum
# stands beside it, so that no change happens by accident: who adds something
# runs `ci/frozen.sh --write` and says in CHANGELOG.md what was added.
set -euo pipefail
cd "$(dirname "$0")/../api/openapi"

if [ "${1:-}" = --write ]; then
	sha256sum -- *.json >SHA256SUMS
	exit
fi
if ! sha256sum --check --strict --quiet SHA256SUMS; then
	echo "a frozen document is not the one that was published; see ci/frozen.sh"
	exit 1
fi
for document in *.json; do
	grep -q "  $document\$" SHA256SUMS || {
		echo "$document has no checksum; see ci/frozen.sh"
		exit 1
	}
done
