// Hosts that share this folder's file system at the same path, and take ssh without a password.
#include <fmt/format.h>

#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kSshNodeStart =
    R"sh(number=$1 attempt=$2 nodes=$3 head=$4 rank=$5 host=$6
# Secrets come through the connection: in no file and on no command line.
while IFS= read -r -d '' pair; do export "${pair?}"; done
)sh";

constexpr std::string_view kSshAlive = R"sh(  local host pid
  read -r host pid <<< "$1"
  [[ $host != "$(hostname)" ]] || kill -0 "$pid" 2> /dev/null
)sh";

constexpr std::string_view kSshStart =
    R"sh(mapfile -t hosts < <(grep -v '^[[:space:]]*\(#\|$\)' "$folder/hosts.txt")
if ((${#hosts[@]} < nodes)); then
  echo "run $number needs $nodes hosts; hosts.txt lists ${#hosts[@]}" >&2
  exit 2
fi
head=${MASTER_ADDR:-${hosts[0]#*@}}
names=(@SECRETS@)
secrets() {
  local name
  for name in "${names[@]}"; do printf '%s=%s\0' "$name" "${!name:-}"; done
}
# On all nodes at once; ends when they have ended.
stop_nodes() (
  touch -- "$run/attempts/$attempt/stop"
  for ((rank = 0; rank < nodes; ++rank)); do
    printf -v command '%q ' bash "$folder/stop.sh" "$number" "$attempt" "$rank"
    "${SSH[@]}" -n "${hosts[rank]}" "$command" || true &
  done
  wait
)
# shellcheck disable=SC2317 # a trap calls it
stop() {
  trap '' INT TERM HUP
  echo "run $number: stopping" >&2
  stop_nodes
  wait
  date +%s > "$folder/last_end"
  echo 143 > "$run/attempts/$attempt/failed"
  exit 143
}
trap stop INT TERM HUP
for ((rank = 0; rank < nodes; ++rank)); do
  printf -v command '%q ' bash "$folder/node.sh" "$number" "$attempt" "$nodes" "$head" "$rank" "${hosts[rank]#*@}"
  secrets | "${SSH[@]}" "${hosts[rank]}" "$command" &
done
for ((rank = 0; rank < nodes; ++rank)); do
  if ! wait -n && ((status == 0)); then
    status=1
    stop_nodes
  fi
done
)sh";

constexpr std::string_view kStop = R"sh(#!/bin/bash
# Ends a run's training on this node and waits for its end: bash stop.sh NUMBER ATTEMPT RANK.
set -euo pipefail
folder=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# Of node.sh, and of the recorder, which leads the training's process group.
pids=()
mapfile -t pids < "$folder/runs/$1/attempts/$2/node-$3.pid" 2> /dev/null || true
if ((${#pids[@]} == 0)); then exit 0; fi
group=${pids[1]:-}
signal_group() { [[ -n $group ]] && kill "$1" -- "-$group" 2> /dev/null; }
if ! kill -TERM "${pids[0]}" 2> /dev/null; then signal_group -TERM || exit 0; fi
for ((i = 0; i < 120; ++i)); do
  if ! kill -0 "${pids[0]}" 2> /dev/null && ! signal_group -0; then exit 0; fi
  sleep 0.5
done
echo "run $1: rank $3 does not end; it is killed" >&2
signal_group -KILL || true
)sh";

/// Which hosts are to be nodes of which kind, where they are unlike.
std::string hosts_in_order(const Plan& plan) {
  const spec::Cluster& cluster = plan.jobs.front().job.cluster;
  std::string text;
  int64_t first = 1;
  for (const spec::NodeGroup& group : cluster.groups) {
    text += fmt::format("# Hosts {} to {}: {}.\n", first, first + group.nodes - 1, group.node.name);
    first += group.nodes;
  }
  return text;
}

}  // namespace

SchedulerPart ssh_part(const Plan& plan) {
  SchedulerPart part;
  part.node_start = kSshNodeStart;
  std::string hosts = "# One host a line, [USER@]HOST; a run of N nodes takes the first N.\n" +
                      hosts_in_order(plan);
  for (const std::string& host : plan.options.site.hosts) hosts += host + '\n';
  part.drive = "attempt=ssh-$(date +%Y%m%dT%H%M%S)-$$\n" +
               lock_text("\"$(hostname) $$\"", kSshAlive) +
               filled(kSshStart, {{"@SECRETS@", secret_names(plan.options.site)}}) + finish_text();
  part.files = {{"hosts.txt", hosts}, {"stop.sh", std::string(kStop)}, run_all_file(plan)};
  return part;
}

}  // namespace ergometer::launch
