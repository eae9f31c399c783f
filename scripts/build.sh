#!/usr/bin/env bash
# Builds targets of a preset and says how far it is: on a terminal all the time, else a line a tenth. When something fails it
# prints the whole log and ends with its status.
#
#   scripts/build.sh PRESET "TARGET ..." [SETTING ...]     a setting is CMake's: -DERGOMETER_TESTS=ON
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
read -ra targets <<<"$2"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fail() {
  cat "$log" >&2
  exit 1
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Steps differ in length: what is left is about as long as they were on average.
show() {  # steps done, of all, seconds spent
  local tenth=$((10 * $1 / $2)) text
  text="Building the $preset preset: step $1 of $2, $(clock "$3") min, about $(clock $(($3 * ($2 - $1) / $1))) min left"
  if [ -t 2 ]; then
    printf '\r%-78s' "$text" >&2
  elif [ "$tenth" -gt "$told" ] && [ "$2" -ge 20 ]; then
    echo "$text" >&2
  fi
  told=$tenth
}

cmake --preset "$preset" "${@:3}" >"$log" 2>&1 || fail
told=-1
while IFS= read -r line; do
  echo "$line" >>"$log"
  if [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\ ([0-9]+) ]]; then show "${BASH_REMATCH[@]:1:3}"; fi
done < <(NINJA_STATUS='[%f/%t %e] ' cmake --build --preset "$preset" --target "${targets[@]}" 2>&1)
wait $! || fail
if [ -t 2 ] && [ "$told" -ge 0 ]; then printf '\r%78s\r' '' >&2; fi
