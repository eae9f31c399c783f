#include "launch/scripts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/shell.h"
#include "base/text.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kSettings =
    R"sh(# Where things are at this site: the one file here that is yours to edit. All scripts read it.
# shellcheck shell=bash disable=SC2016,SC2034
ERGOMETER=@ERGOMETER@  # the program, on every node
RECORD=(@RECORD@)  # further options of `ergometer record`
TORCHRUN=(@TORCHRUN@)
FRAMEWORK=@FRAMEWORK@  # @WHAT@
DATA=@DATA@  # empty: made-up data
TOKENIZER=@TOKENIZER@
MASTER_PORT=@PORT@
CLOCK_PORT=@CLOCK_PORT@  # by which nodes tell each other the time (UDP); 0: they do not
NVIDIA_SMI=(nvidia-smi)  # with sudo where runs set power caps or clocks
GPUS_BEFORE=${GPUS_BEFORE:-/var/tmp/ergometer-gpus-before-$EUID}  # on the node: caps to go back to
)sh";

constexpr std::string_view kNode = R"sh(#!/bin/bash
# Records and trains on one node of a run; drive.sh starts it on every node.
set -euo pipefail
folder=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$folder/settings.sh"
: "${FRAMEWORK:?is to be set in settings.sh}"
@START@run=$folder/runs/$number
out=$run/attempts/$attempt
mkdir -p -- "$out"
# Power caps from before a run set them: there while they are set, and still after one that was killed.
restore_gpus() {
  local gpu watts
  if [[ ! -O $GPUS_BEFORE ]]; then return 0; fi
  while IFS=', ' read -r gpu watts; do
    "${NVIDIA_SMI[@]}" --id="$gpu" --power-limit="$watts" || true
  done < "$GPUS_BEFORE"
  "${NVIDIA_SMI[@]}" --reset-gpu-clocks || true
  rm -f -- "$GPUS_BEFORE"
}
child=
# shellcheck disable=SC2317 # a trap calls it
stop() {
  if [[ -z $child ]]; then exit 143; fi
  kill -TERM "$child" 2> /dev/null || true
}
# First where to be found, then whether the run was stopped before: who stops does it the other way round.
echo "$$" > "$out/node-$rank.pid"
trap 'restore_gpus; rm -f -- "$out/node-$rank.pid"' EXIT
trap stop TERM INT HUP
if [[ -e $out/stop ]]; then exit 143; fi
restore_gpus
secrets=(@SECRETS@)
for name in "${secrets[@]}"; do
  if [[ -z ${!name:-} ]]; then
    echo "run $number: $host: the environment variable $name is not set" >&2
    exit 3
  fi
done
# Times that the training prints are read as UTC.
export NODE_RANK=$rank MASTER_ADDR=$head MASTER_PORT RUN=$run ATTEMPT=$out TZ=UTC
clock=()
if ((nodes > 1 && CLOCK_PORT > 0)); then
  if ((rank == 0)); then clock=(--clock-listen "$CLOCK_PORT"); else clock=(--clock-peer "$head:$CLOCK_PORT"); fi
fi
if [[ -e $run/limits.sh ]]; then
  # shellcheck source=/dev/null
  source "$run/limits.sh"
fi
# A process group of its own: what a recorder that dies leaves behind is found by it.
set -m
"$ERGOMETER" record --out "$out/node-$rank.run" --host "$host" --tag "run=$number" --tag "attempt=$attempt" \
  "${clock[@]}" "${RECORD[@]}" -- @CONTAINER@bash "$run/train.sh" > "$out/node-$rank.log" 2>&1 < /dev/null &
child=$!
set +m
echo "$child" >> "$out/node-$rank.pid"
status=0
wait "$child" || status=$?
# A signal ends the wait before the child has ended.
while kill -0 "$child" 2> /dev/null; do
  status=0
  wait "$child" || status=$?
done
for ((i = 0; i < 20; ++i)); do
  kill -TERM -- "-$child" 2> /dev/null || break
  sleep 0.5
done
kill -KILL -- "-$child" 2> /dev/null || true
if ((status != 0)); then echo "run $number: $host: status $status, see $out/node-$rank.log" >&2; fi
@END@exit "$status"
)sh";

constexpr std::string_view kDrive = R"sh(#!/bin/bash
# Does one run, unless it is finished: bash drive.sh NUMBER NODES. State is files:
#   runs/NUMBER/finished   names the attempt in which all nodes ended well
#   runs/NUMBER/running    who is at it
#   runs/NUMBER/attempts/  what every attempt recorded and printed
#   last_end               when the latest run ended, for the cool-down
set -euo pipefail
folder=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
source "$folder/settings.sh"
number=$1
run=$folder/runs/$number
if [[ -e $run/finished ]]; then
  echo "run $number is finished ($(< "$run/finished"))"
  exit 0
fi
cool_down() {
  local pause=@COOLDOWN@
  if ((pause > 0)) && [[ -e $folder/last_end ]]; then
    pause=$((pause - ($(date +%s) - $(< "$folder/last_end"))))
    if ((pause > 0)); then
      echo "run $number: cooling down for $pause s"
      sleep "$pause"
    fi
  fi
}
@DRIVE@)sh";

constexpr std::string_view kRun = R"sh(#!/bin/bash
# Run @NUMBER@: @JOB@, repeat @REPEAT@ of @REPEATS@. Predicted: @STEP@ a step.
folder=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
exec bash "$folder/drive.sh" @NUMBER@ @NODES@
)sh";

constexpr std::string_view kLimits =
    R"sh(# Every GPU of the node as the job says, and afterwards as it was. Needs the right to set it (root).
# shellcheck shell=bash disable=SC2154
"${NVIDIA_SMI[@]}" --query-gpu=index,power.limit --format=csv,noheader,nounits > "$GPUS_BEFORE.new"
mv -- "$GPUS_BEFORE.new" "$GPUS_BEFORE"
)sh";

/// Of one line, and no option or expansion of the shell's: a comment.
std::string comment(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

std::string_view framework_folder(Framework framework) {
  switch (framework) {
    case Framework::kMegatron: return "Megatron-LM's folder, which holds pretrain_gpt.py";
    case Framework::kNemo: return "NeMo's folder, which holds examples/nlp";
    case Framework::kTorchtitan: return "torchtitan's folder";
  }
  return "";
}

/// Words, each in quotes where a shell needs them.
std::string shell_words(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(base::mapped(words, base::shell_quoted), " "));
}

std::string settings_text(const Plan& plan) {
  const Site& site = plan.options.site;
  std::string text =
      filled(kSettings, {{"@ERGOMETER@", base::shell_quoted(site.ergometer)},
                         {"@RECORD@", shell_words(site.record)},
                         {"@TORCHRUN@", shell_words(site.torchrun)},
                         {"@FRAMEWORK@", base::shell_quoted(site.framework)},
                         {"@WHAT@", std::string(framework_folder(plan.options.framework))},
                         {"@DATA@", base::shell_quoted(site.data)},
                         {"@TOKENIZER@", base::shell_quoted(site.tokenizer)},
                         {"@PORT@", std::to_string(site.port)},
                         {"@CLOCK_PORT@", std::to_string(site.clock_port)}});
  if (plan.options.framework == Framework::kTorchtitan)
    text += "TITAN_TOKENIZER_OPTION=--model.hf_assets_path  # 0.1: --model.tokenizer_path\n";
  if (site.scheduler == Scheduler::kSsh)
    text +=
        "SSH=(ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 -o "
        "ServerAliveCountMax=4)\n";
  if (!site.container.empty() && site.scheduler != Scheduler::kKubernetes) {
    text += fmt::format("CONTAINER={}\n", base::shell_quoted(site.container));
    text += fmt::format("MOUNTS=({})  # folders that the container sees beside this one\n",
                        shell_words(site.mounts));
  }
  for (const auto& [name, value] : site.environment)
    text += fmt::format("export {}={}\n", name, base::shell_quoted(value));
  return text;
}

/// The container that `ergometer record` starts, as words before the training's.
std::string container_words(const Plan& plan) {
  const Site& site = plan.options.site;
  if (site.container.empty() || site.scheduler == Scheduler::kKubernetes ||
      site.runtime == Runtime::kPyxis)
    return "";
  const bool amd = plan.jobs.front().job.cluster.node.gpu.vendor == "AMD";
  if (site.runtime == Runtime::kApptainer)
    return fmt::format(
        "apptainer exec --{} --bind \"$folder\" \"${{MOUNTS[@]/#/--bind=}}\" \"$CONTAINER\" ",
        amd ? "rocm" : "nv");
  std::vector<std::string> passed = {"NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
                                     "RUN",       "ATTEMPT",     "TZ"};
  for (const Secret& secret : site.secrets) passed.push_back(secret.variable);
  std::string words = fmt::format(
      "docker run --rm {} --network host --ipc host --ulimit memlock=-1 \\\n  \"${{devices[@]}}\" "
      "--volume \"$folder:$folder\" \"${{volumes[@]}}\"",
      amd ? "--device /dev/kfd --device /dev/dri" : "--gpus all");
  // By name alone: docker takes the value from its environment.
  for (const std::string& name : passed) words += " --env " + name;
  return words + " \\\n  \"$CONTAINER\" ";
}

std::string node_text(const Plan& plan, const SchedulerPart& part) {
  const std::string secrets = secret_names(plan.options.site);
  std::string start = part.node_start;
  const std::string container = container_words(plan);
  if (container.starts_with("docker"))
    start +=
        "devices=()\n"
        "if [[ -e /dev/infiniband ]]; then devices=(--device /dev/infiniband --cap-add IPC_LOCK); "
        "fi\n"
        "volumes=()\n"
        "for volume in \"${MOUNTS[@]}\"; do volumes+=(--volume \"$volume:$volume\"); done\n";
  std::string text =
      filled(kNode, {{"@START@", start}, {"@END@", part.node_end}, {"@CONTAINER@", container}});
  if (!secrets.empty()) return filled(text, {{"@SECRETS@", secrets}});
  // Nothing to look for.
  const size_t from = text.find("secrets=("), to = text.find("export NODE_RANK");
  return text.erase(from, to - from);
}

std::string run_text(const Plan& plan, const PlannedRun& run) {
  const PlannedJob& job = plan.job_of(run);
  return filled(kRun, {{"@NUMBER@", run_name(run.number)},
                       {"@REPEAT@", std::to_string(run.repeat)},
                       {"@REPEATS@", std::to_string(plan.options.repeats)},
                       {"@STEP@", base::format_seconds(job.predicted.performance.step_time_s)},
                       {"@NODES@", std::to_string(job.job.nodes())},
                       {"@JOB@", comment(job.id)}});
}

/// Power cap and clock of the job; empty: GPUs stay as they are.
std::string limits_text(const spec::Job& job) {
  const spec::Conditions& c = job.conditions;
  if (c.power_cap_w <= 0 && c.lock_clock_hz <= 0) return "";
  std::string text(kLimits);
  if (c.power_cap_w > 0)
    text += fmt::format("\"${{NVIDIA_SMI[@]}}\" --power-limit={:.0f}\n", c.power_cap_w);
  constexpr double kMegahertz = 1e6;
  if (c.lock_clock_hz > 0)
    text += fmt::format("\"${{NVIDIA_SMI[@]}}\" --lock-gpu-clocks={0:.0f},{0:.0f}\n",
                        c.lock_clock_hz / kMegahertz);
  return text;
}

SchedulerPart scheduler_part(const Plan& plan) {
  switch (plan.options.site.scheduler) {
    case Scheduler::kSlurm: return slurm_part(plan);
    case Scheduler::kSsh: return ssh_part(plan);
    case Scheduler::kKubernetes: return kubernetes_part(plan);
  }
  return {};
}

}  // namespace

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const auto value = std::ranges::find_if(
        values, [&](const auto& v) { return text.substr(at).starts_with(v.first); });
    if (value == values.end()) {
      result += text[at++];
    } else {
      result += value->second;
      at += value->first.size();
    }
  }
  return result;
}

std::string secret_names(const Site& site) {
  return fmt::format("{}", fmt::join(base::mapped(site.secrets, &Secret::variable), " "));
}

int64_t gpus_per_node(const spec::Job& job) {
  return std::min<int64_t>(job.gpus, job.cluster.node.gpus);
}

std::vector<TextFile> scripts_of(const Plan& plan) {
  const SchedulerPart part = scheduler_part(plan);
  std::vector<TextFile> files = part.files;
  files.push_back({"settings.sh", settings_text(plan)});
  files.push_back({"node.sh", node_text(plan, part)});
  files.push_back(
      {"drive.sh", filled(kDrive, {{"@DRIVE@", part.drive},
                                   {"@COOLDOWN@",
                                    fmt::format("{:.0f}", std::ceil(plan.options.cooldown_s))}})});
  for (const PlannedRun& run : plan.runs) {
    const std::string folder = fmt::format("runs/{}/", run_name(run.number));
    files.push_back({folder + "run.sh", run_text(plan, run)});
    const std::string limits = limits_text(plan.job_of(run).job);
    if (!limits.empty()) files.push_back({folder + "limits.sh", limits});
    for (const TextFile& file : run.files) files.push_back({folder + file.path, file.text});
  }
  return files;
}

}  // namespace ergometer::launch
