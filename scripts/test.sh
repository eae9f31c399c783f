#!/usr/bin/env bash
# Installs what is missing, builds and runs every test. Ends in ctest's summary, with ctest's exit status.
#
#   --quick  without the second build of the program, under the address and undefined-behaviour sanitizers
#   --full   all of the tests under these, and under the thread sanitizer
# Everything behind these goes to ctest: ./scripts/test.sh --quick -R golden
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitizers=(asan) sanitized=(ergometer) whole=OFF needed=--sanitized
case "${1:-}" in
  --quick) sanitizers=() needed=--tests; shift ;;
  --full) sanitizers=(asan tsan) sanitized=(ergometer ergometer_tests) whole=ON; shift ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac

./scripts/install-dependencies.sh "$needed"
for preset in "${sanitizers[@]}"; do
  ./scripts/build.sh "$preset" "${sanitized[*]}" -DERGOMETER_TESTS=ON
done
joined=$(IFS=';'; echo "${sanitizers[*]}")
./scripts/build.sh release all -DERGOMETER_TESTS=ON "-DERGOMETER_SANITIZED_PRESETS=$joined" "-DERGOMETER_SANITIZED_WHOLE=$whole"
exec ctest --preset release --parallel "$(nproc)" "$@"
