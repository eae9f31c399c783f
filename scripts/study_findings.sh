#!/usr/bin/env bash
# Puts the tables of docs/models/study.md anew, and their counts of what agrees.
#
#   scripts/study_findings.sh                 the study at rest, from what its test prints (build/release/src/study/test_study)
#   scripts/study_findings.sh --as-measured   the study as it was measured, from `ergometer sweep charllm-as-measured`: some
#                                             six minutes of processor time
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

page=docs/models/study.md
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
cmake --preset release >/dev/null
case "${1:-}" in
  '')
    cmake --build --preset release --target test_study >/dev/null
    build/release/src/study/test_study --gtest_filter='CharllmStudy.*' --gtest_brief=1 |
      sed -e '/signs and rank orders agree/s/^/| count | /' -e '/^| open |/s/ |  | / | /' >"$printed"
    ;;
  --as-measured)
    cmake --build --preset release --target ergometer >/dev/null
    build/release/ergometer sweep charllm-as-measured --json | python3 -c '
import json, sys
study = json.load(sys.stdin)
print("| count-as-measured |", study["agreement"])
for f in study["findings"]:
    kind = f["id"].split(".")[0]
    print("| " + " | ".join([kind + "-as-measured", f["title"], f["reported"], f["predicted"], f["agrees"].replace("no", "**no**"), f["why"]]) + " |")
' >"$printed"
    ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
# A table of the page, or a count, stands under a line "<!-- KIND -->"; its rows are the printed lines "| KIND | ...".
new=$(awk -v printed="$printed" '
  BEGIN {
    while ((getline line < printed) > 0)
      if (match(line, /^\| [a-z-]+ \| /)) {
        kind = substr(line, 3, RLENGTH - 5)
        rest = substr(line, RLENGTH + 1)
        rows[kind] = rows[kind] (kind ~ /^count/ ? rest "." : "| " rest) "\n"
      }
    kind = ""
  }
  /^<!-- [a-z-]+ -->$/ { kind = ($2 in rows) ? $2 : ""; print; if (kind ~ /^count/) { printf "%s", rows[kind]; getline; kind = "" } next }
  /^\| --- / && kind != "" { print; printf "%s", rows[kind]; kind = ""; skip = 1; next }
  skip && /^\|/ { next }
  { skip = 0; print }' "$page")
printf '%s\n' "$new" >"$page"
grep -h '^| count' "$printed" | sed 's/^| [a-z-]* | *//'
