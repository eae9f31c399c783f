#!/usr/bin/env bash
# Puts the tables of docs/models/study.md anew from what the study's test prints, and its count of what agrees.
#
#   scripts/study_findings.sh [TEST_PROGRAM]     by default build/release/src/study/test_study, which is built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:-}
if [ -z "$program" ]; then
  program=build/release/src/study/test_study
  cmake --preset release >/dev/null
  cmake --build --preset release --target test_study >/dev/null
fi
page=docs/models/study.md
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
"$program" --gtest_filter='CharllmStudy.*' --gtest_brief=1 >"$printed"
# A table of the page stands under a line "<!-- sign -->", "<!-- size -->" or "<!-- open -->", the count under "<!-- count -->".
new=$(awk -v printed="$printed" '
  function rows(kind,   line, mark) {
    mark = "| " kind " | "
    while ((getline line < printed) > 0)
      if (index(line, mark) == 1) {
        line = "| " substr(line, length(mark) + 1)
        if (kind == "open") sub(/ \|  \| /, " | ", line)
        print line
      }
    close(printed)
  }
  /^<!-- (sign|size|open) -->$/ { kind = $2; print; next }
  /^<!-- count -->$/ { print; while ((getline line < printed) > 0) if (line ~ /signs and rank orders agree/) print line "."; close(printed); getline; next }
  /^\| --- / && kind != "" { print; rows(kind); kind = ""; skip = 1; next }
  skip && /^\|/ { next }
  { skip = 0; print }' "$page")
printf '%s\n' "$new" >"$page"
grep 'signs and rank orders agree' "$printed"
