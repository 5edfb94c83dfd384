#!/usr/bin/env bash
# Checks the files in deploy with the programs that they are for.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/setup.sh promtool jq
promtool check rules deploy/prometheus/kartei.rules.yml
promtool test rules deploy/prometheus/kartei.test.yml
jq -e '.panels | length > 0' deploy/grafana/kartei.json >/dev/null
