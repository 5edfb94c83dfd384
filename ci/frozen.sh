#!/usr/bin/env bash
# Checks that no OpenAPI document has changed by accident, by the checksums beside the documents.
# `make openapi` calls this script with --write after an intended change, which also needs an
# entry in CHANGELOG.md. TestPublished in api/draft checks that changes of a published document
# only add to it. The document in ci/clients, from which clients of before are generated, never
# changes.
set -euo pipefail
cd "$(dirname "$0")/../api/openapi"

if [ "${1:-}" = --write ]; then
	sha256sum -- *.json >SHA256SUMS
	exit
fi
if ! sha256sum --check --strict --quiet SHA256SUMS ../../ci/clients/SHA256SUMS; then
	echo "a frozen document is not the one that its checksum is of; see ci/frozen.sh"
	exit 1
fi
for document in *.json; do
	grep -q "  $document\$" SHA256SUMS || {
		echo "$document has no checksum; see ci/frozen.sh"
		exit 1
	}
done
