// Where one process drives a run: its lock, its state, and all runs one after the other.
#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kLock = R"sh(nodes=$2
owner=@OWNER@
is_alive() {
@ALIVE@}
if ! (set -o noclobber && echo "$owner" > "$run/running") 2> /dev/null; then
  other=$(< "$run/running")
  if is_alive "$other"; then
    echo "run $number is running ($other); if it is not, remove $run/running" >&2
    exit 75
  fi
  echo "$owner" > "$run/running"
fi
trap 'if [[ $(cat "$run/running" 2> /dev/null) == "$owner" ]]; then rm -f -- "$run/running"; fi' EXIT
cool_down
mkdir -p -- "$run/attempts/$attempt"
echo "run $number: attempt $attempt"
status=0
)sh";

constexpr std::string_view kFinish = R"sh(date +%s > "$folder/last_end"
if ((status != 0)); then
  echo "$status" > "$run/attempts/$attempt/failed"
  echo "run $number failed with status $status; see $run/attempts/$attempt" >&2
  exit "$status"
fi
echo "$attempt" > "$run/finished.new"
mv -- "$run/finished.new" "$run/finished"
echo "run $number is finished"
)sh";

constexpr std::string_view kRunAll = R"sh(#!/bin/bash
# All runs in their order. May be started again at any time: what is finished is passed.
set -euo pipefail
folder=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
failed=()
child=
# shellcheck disable=SC2317 # a trap calls it
stop() {
  trap '' INT TERM HUP
  if [[ -n $child ]]; then
    kill -TERM "$child" 2> /dev/null || true
    wait "$child" || true
  fi
  exit 130
}
trap stop INT TERM HUP
for number in @NUMBERS@; do
  bash "$folder/runs/$number/run.sh" &
  child=$!
  wait "$child" || failed+=("$number")
done
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
)sh";

}  // namespace

std::string lock_text(std::string_view owner, std::string_view is_alive) {
  return filled(kLock, {{"@OWNER@", std::string(owner)}, {"@ALIVE@", std::string(is_alive)}});
}

std::string finish_text() { return std::string(kFinish); }

TextFile run_all_file(const Plan& plan) {
  std::string numbers;
  for (const PlannedRun& run : plan.runs)
    numbers += (numbers.empty() ? "" : " ") + run_name(run.number);
  return {"run-all.sh", filled(kRunAll, {{"@NUMBERS@", numbers}})};
}

}  // namespace ergometer::launch
