#!/usr/bin/env bash
# Looks for hours for what tests of minutes do not find; run whole before a release. Ends with status 1 on a finding.
#
#   ./scripts/soak.sh             all parts
#   ./scripts/soak.sh PART ...    some of them: memory properties hostile faults kills threads identity fuzz
#
# Prints a line a part, which docs/reliability.md keeps; what the parts printed is in build/soak. How much:
#   SOAK_JOBS=10000    random jobs of each property       SOAK_ROUNDS=20   damaged files of each golden case
#   SOAK_FUZZ_S=1800   seconds of each fuzzer             SOAK_KILLS=1000  recordings killed
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

parts=(memory properties hostile faults kills threads identity fuzz)
for part in "$@"; do
  [[ " ${parts[*]} " == *" $part "* ]] || { echo "$0: found '$part'; allowed: ${parts[*]}" >&2; exit 2; }
done
[ $# -eq 0 ] || parts=("$@")
jobs=${SOAK_JOBS:-10000} rounds=${SOAK_ROUNDS:-20} fuzz_s=${SOAK_FUZZ_S:-1800} kills=${SOAK_KILLS:-1000}

./scripts/install-dependencies.sh --developers
mkdir -p build/soak
build() { ./scripts/build.sh "$1" "${*:2}" -DERGOMETER_TESTS=ON; }  # preset, targets ...

memory() {
  build asan ergometer ergometer_tests
  build/asan/ergometer_tests --gtest_brief=1
  GOLDEN_TIMEOUT_S=1800 tests/golden/run.py --ergometer build/asan/ergometer
}
properties() {
  build release ergometer_tests
  ERGOMETER_RANDOM_JOBS=$jobs build/release/ergometer_tests --gtest_filter='AnyRandomJob.*:PowerViews.*' --gtest_brief=1
}
hostile() {
  build release ergometer
  python3 tests/hostile/hostile_test.py build/release/ergometer --rounds "$rounds" --keep build/soak/hostile
}
faults() {
  build release ergometer ergometer_fail_call
  python3 tests/faults/faults_test.py build/release/ergometer build/release/tests/libergometer_fail_call.so --every-call
}
kills() {
  build release ergometer
  python3 tests/record/kill_test.py build/release/ergometer --kills "$kills"
}
# The flows that use threads under the thread sanitizer: all unit tests, and whole commands.
threads() {
  build tsan ergometer ergometer_tests
  build/tsan/ergometer_tests --gtest_brief=1
  GOLDEN_TIMEOUT_S=1800 tests/golden/run.py --ergometer build/tsan/ergometer sweep search record analyze merge
  python3 tests/record/command_test.py build/tsan/ergometer
}
identity() { ./scripts/identity.sh; }
fuzz() { ./scripts/fuzz.sh "$fuzz_s"; }

status=0
for part in "${parts[@]}"; do
  started=$SECONDS
  outcome=ok
  set +e  # in a condition, a part would go on where one of its commands fails
  (set -e; "$part") >"build/soak/$part.log" 2>&1
  [ $? -eq 0 ] || { outcome="FAILED, see build/soak/$part.log"; status=1; }
  set -e
  printf '%-10s %6d s  %s\n' "$part" $((SECONDS - started)) "$outcome"
done
exit $status
