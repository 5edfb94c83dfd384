#!/usr/bin/env bash
# No OpenAPI document changes by accident: its checksum stands beside it. Who
# adds something runs `make openapi`, which calls this with --write, and says in
# CHANGELOG.md what was added. That a published document is changed by additions
# only is held by TestPublished in api/draft.
set -euo pipefail
cd "$(dirname "$0")/../api/openapi"

if [ "${1:-}" = --write ]; then
	sha256sum -- *.json >SHA256SUMS
	exit
fi
if ! sha256sum --check --strict --quiet SHA256SUMS; then
	echo "a frozen document is not the one that its checksum is of; see ci/frozen.sh"
	exit 1
fi
for document in *.json; do
	grep -q "  $document\$" SHA256SUMS || {
		echo "$document has no checksum; see ci/frozen.sh"
		exit 1
	}
done
