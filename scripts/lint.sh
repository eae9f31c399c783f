#!/usr/bin/env bash
# Holds the sources to .clang-format and .clang-tidy. Ends with status 1 when something is to be changed.
#
#   ./scripts/lint.sh            the files that differ from the main branch, or are new
#   ./scripts/lint.sh --all      all of them
#   ./scripts/lint.sh --fix      also formats them (clang-tidy's findings are yours to fix)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all=false
fix=false
for argument in "$@"; do
  case "$argument" in
    --all) all=true ;;
    --fix) fix=true ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

./scripts/install-dependencies.sh --developers

sources() { git ls-files --cached --others --exclude-standard -- 'src/*.h' 'src/*.cpp' 'bench/*.cpp' 'fuzz/*.cpp'; }
changed() {
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)
  { git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u
}
mapfile -t files < <(if $all; then sources; else comm -12 <(sources | sort) <(changed); fi |
  while read -r file; do [ -f "$file" ] && echo "$file"; done)
if [ ${#files[@]} -eq 0 ]; then
  echo "no source file has changed; ./scripts/lint.sh --all looks at all of them"
  exit 0
fi

status=0
if $fix; then clang-format-19 -i "${files[@]}"; fi
unformatted=$(for file in "${files[@]}"; do
  clang-format-19 --dry-run --Werror "$file" >/dev/null 2>&1 || echo "$file"
done)
if [ -n "$unformatted" ]; then
  printf 'to be formatted (./scripts/lint.sh --fix):\n%s\n' "$unformatted"
  status=1
fi

# clang-tidy reads how each file is compiled from a configured build; nothing is built there but what is generated.
cmake -S . -B build/lint -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER_LAUNCHER= -DERGOMETER_TESTS=ON -DERGOMETER_FILES_AT_ONCE=1 >/dev/null
known=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/lint/compile_commands.json)
mapfile -t units < <(for file in "${files[@]}"; do
  case "$file" in *.cpp) grep -qxF "$PWD/$file" <<<"$known" && echo "$file" ;; esac
done || true)
if [ ${#units[@]} -gt 0 ]; then
  printf '%s\n' "${units[@]}" |
    xargs --max-procs="$(nproc)" --max-args=1 clang-tidy-19 -p build/lint --quiet 2>build/lint/tidy.log || status=1
fi
[ $status -eq 0 ] && echo "${#files[@]} files are as they should be"
exit $status
