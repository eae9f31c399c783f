#!/usr/bin/env bash
# Builds every fuzzer and runs each for a while; a finding ends with status 1.
#
#   ./scripts/fuzz.sh [SECONDS] [FUZZER ...]     60 seconds each, all of them
#
# Inputs that reach new code are kept in build/fuzz/corpus, findings in build/fuzz/findings. A finding, once
# fixed, belongs into fuzz/corpus/<fuzzer>, which the test fuzz.corpus runs with any compiler, and its cause into a unit test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
[ $# -gt 0 ] && shift
case "$seconds" in
  '' | *[!0-9]*) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for source in fuzz/fuzz_*.cpp; do fuzzers+=("$(basename "$source" .cpp)"); done
fi

./scripts/install-dependencies.sh --developers
cmake --preset fuzz -DERGOMETER_TESTS=OFF >/dev/null
cmake --build --preset fuzz --target "${fuzzers[@]}"

# What the catalog holds is a seed for whoever reads such files.
seeds() {
  local folders=()
  case "$1" in
    fuzz_model) folders=(catalog/models) ;;
    fuzz_study) folders=(catalog/studies) ;;
    fuzz_software) folders=(catalog/software catalog/recipes) ;;
    fuzz_cluster) folders=(catalog/clusters catalog/nodes) ;;
  esac
  if [ -d "fuzz/corpus/$1" ]; then folders+=("fuzz/corpus/$1"); fi
  printf '%s\n' "${folders[@]}"
}

failed=()
for fuzzer in "${fuzzers[@]}"; do
  corpus=build/fuzz/corpus/$fuzzer
  findings=build/fuzz/findings/$fuzzer
  mkdir -p "$corpus" "$findings"
  mapfile -t folders < <(seeds "$fuzzer")
  words=()
  if [ -f "fuzz/$fuzzer.dict" ]; then words=("-dict=fuzz/$fuzzer.dict"); fi
  # Two workers; a single input may take 10 seconds and 2 GB before it counts as a finding.
  if build/fuzz/fuzz/"$fuzzer" "$corpus" "${folders[@]}" "${words[@]}" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -fork="${FUZZ_WORKERS:-2}" -artifact_prefix="$findings/" \
    >"build/fuzz/$fuzzer.log" 2>&1; then
    echo "$fuzzer: nothing found in $seconds s, $(find "$corpus" -type f | wc -l) inputs in the corpus"
  else
    failed+=("$fuzzer")
    echo "$fuzzer: see build/fuzz/$fuzzer.log and $findings" >&2
    tail -n 30 "build/fuzz/$fuzzer.log" >&2
  fi
done
[ ${#failed[@]} -eq 0 ]
