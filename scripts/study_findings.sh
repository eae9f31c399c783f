#!/usr/bin/env bash
# Puts the table of docs/models/study.md anew from what the tests of the study print.
#
#   scripts/study_findings.sh [TEST_PROGRAM]     by default build/release/src/engine/test_engine, which is built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-}
if [ -z "$program" ]; then
  program=build/release/src/engine/test_engine
  cmake --preset release >/dev/null
  cmake --build --preset release --target test_engine >/dev/null
fi
page=docs/models/study.md
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$program" --gtest_filter='Study.*' --gtest_brief=1 | grep '^| ' >"$table"
new=$(awk -v table="$table" '
  /^\| --- / && !done { print; while ((getline line < table) > 0) print line; done = skip = 1; next }
  skip && /^\|/ { next }
  { skip = 0; print }' "$page")
printf '%s\n' "$new" >"$page"
grep -c '| yes |' "$table" | sed "s/$/ of $(wc -l <"$table") rows agree: docs\/models\/study.md/"
