// Hosts that share this folder's file system at the same path, and take ssh without a password.
#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kNodeStart = R"sh(number=$1 attempt=$2 nodes=$3 head=$4 rank=$5 host=$6
# Secrets come through the connection: in no file and on no command line.
while IFS= read -r -d '' pair; do export "${pair?}"; done
)sh";

constexpr std::string_view kAlive = R"sh(  local host pid
  read -r host pid <<< "$1"
  [[ $host != "$(hostname)" ]] || kill -0 "$pid" 2> /dev/null
)sh";

constexpr std::string_view kStart =
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
stop_nodes() {
  local rank
  for ((rank = 0; rank < nodes; ++rank)); do
    "${SSH[@]}" -n "${hosts[rank]}" "kill -TERM \$(cat $(printf '%q' "$run/attempts/$attempt/node-$rank.pid"))" \
      2> /dev/null || true
  done
}
trap 'stop_nodes; exit 143' INT TERM
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

}  // namespace

SchedulerPart ssh_part(const Plan& plan) {
  SchedulerPart part;
  part.node_start = kNodeStart;
  std::string secrets,
      hosts = "# One host a line, [USER@]HOST; a run of N nodes takes the first N.\n";
  for (const Secret& secret : plan.options.site.secrets)
    secrets += (secrets.empty() ? "" : " ") + secret.variable;
  for (const std::string& host : plan.options.site.hosts) hosts += host + '\n';
  part.drive = "attempt=ssh-$(date +%Y%m%dT%H%M%S)-$$\n" + lock_text("\"$(hostname) $$\"", kAlive) +
               filled(kStart, {{"@SECRETS@", secrets}}) + finish_text();
  part.files = {{"hosts.txt", hosts}, run_all_file(plan)};
  return part;
}

}  // namespace ergometer::launch
