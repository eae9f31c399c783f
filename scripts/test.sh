#!/usr/bin/env bash
# Installs what is missing, builds and runs every test. Ends in ctest's summary, with ctest's exit status.
#
#   --quick  without the second build under the address and undefined-behaviour sanitizers
#   --full   also under the thread sanitizer
# Everything behind these goes to ctest: ./scripts/test.sh --quick -R golden
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitizers=(asan)
case "${1:-}" in
  --quick) sanitizers=(); shift ;;
  --full) sanitizers=(asan tsan); shift ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

# Builds targets of a preset: silent, or the whole log when it fails.
build() {  # preset, targets, settings ...
  local log targets
  log=$(mktemp)
  read -ra targets <<<"$2"
  echo "Building the $1 preset ..." >&2
  if ! { cmake --preset "$1" "${@:3}" && cmake --build --preset "$1" --target "${targets[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
}

./scripts/install-dependencies.sh --tests
for preset in "${sanitizers[@]}"; do
  build "$preset" "ergometer ergometer_tests" -DERGOMETER_TESTS=ON
done
joined=$(IFS=';'; echo "${sanitizers[*]}")
build release all -DERGOMETER_TESTS=ON "-DERGOMETER_SANITIZED_PRESETS=$joined"
exec ctest --preset release --parallel "$(nproc)" "$@"
