// Slurm 20.11 and later: a job array whose tasks are runs, one at a time.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kSlurmNodeStart = R"sh(number=$1 attempt=$2 nodes=$3 head=$4
rank=$SLURM_NODEID host=$SLURMD_NODENAME
)sh";

constexpr std::string_view kSlurmAlive = R"sh(  # The same job comes back after its node failed.
  if [[ $1 == "$SLURM_JOB_ID" ]]; then return 1; fi
  local said id state
  # Where Slurm cannot be asked the job may well run.
  if ! said=$(squeue --noheader --jobs "$1" --states all --format '%A %T' 2>&1); then
    if [[ $said == *"Invalid job id"* ]]; then return 1; else return 0; fi
  fi
  while read -r id state; do
    if [[ $id != "$1" ]]; then continue; fi
    case $state in
      RUNNING | COMPLETING | SUSPENDED | STOPPED | CONFIGURING | RESIZING | SIGNALING | STAGE_OUT) return 0 ;;
    esac
  done <<< "$said"
  return 1
)sh";

constexpr std::string_view kSlurmStart =
    R"sh(head=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
# One task a node, which has all of the node's processors.
srun --nodes "$nodes" --ntasks "$nodes" --ntasks-per-node 1 --cpu-bind=none --kill-on-bad-exit=1 @CONTAINER@\
  bash "$folder/node.sh" "$number" "$attempt" "$nodes" "$head" || status=$?
)sh";

constexpr std::string_view kBatch = R"sh(# Submit it from this folder: cd FOLDER && sbatch @FILE@
set -euo pipefail
CDPATH='' cd -- "$SLURM_SUBMIT_DIR"
if [[ ! -e drive.sh ]]; then
  echo "submit from the folder that holds @FILE@" >&2
  exit 2
fi
printf -v number %03d "$SLURM_ARRAY_TASK_ID"
exec bash "runs/$number/run.sh"
)sh";

constexpr std::string_view kSubmit = R"sh(#!/bin/bash
# Submits the runs that are not finished, in the manifest's order, each array behind the one before.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
after=()
submit() {
  local file=$1 tasks='' number id
  shift
  for number; do
    if [[ ! -e runs/$number/finished ]]; then tasks+=,$((10#$number)); fi
  done
  if [[ -z $tasks ]]; then return 0; fi
  id=$(sbatch --parsable --array="${tasks#,}%1" ${after[@]+"${after[@]}"} "$file")
  id=${id%%;*}
  echo "$id $file"
  after=(--dependency="afterany:$id")
}
@PARTS@)sh";

std::string container_words(const Site& site) {
  if (site.container.empty() || site.runtime != Runtime::kPyxis) return "";
  return "\\\n  --container-image \"$CONTAINER\" "
         "--container-mounts \"$folder:$folder$(printf '%s' \"${MOUNTS[@]/#/,}\")\" ";
}

std::string directives(const Site& site, const Batch& batch) {
  std::string text = "#!/bin/bash\n";
  const auto add = [&](std::string_view option, std::string_view value) {
    if (!value.empty()) text += fmt::format("#SBATCH --{}={}\n", option, value);
  };
  add("job-name", site.name);
  add("account", site.account);
  add("partition", site.partition);
  add("time", site.time_limit);
  add("nodes", std::to_string(batch.nodes));
  add("ntasks-per-node", "1");
  text += "#SBATCH --exclusive\n";
  if (site.gpu_request == "gpus-per-node")
    add("gpus-per-node", std::to_string(batch.gpus_per_node));
  if (site.gpu_request == "gres") add("gres", fmt::format("gpu:{}", batch.gpus_per_node));
  add("array", base::ranges_text(batch.runs) + "%1");
  for (const std::string& argument : site.sbatch_arguments) text += "#SBATCH " + argument + '\n';
  return text;
}

TextFile batch_file(const Plan& plan, const Batch& batch) {
  return {batch.file,
          directives(plan.options.site, batch) + filled(kBatch, {{"@FILE@", batch.file}})};
}

/// A line for every stretch of runs of one size, so that sizes alternate as the order has them.
TextFile submit_file(const Plan& plan, const std::vector<Batch>& batches) {
  std::map<int64_t, const Batch*> batch_of;
  for (const Batch& batch : batches)
    for (const int64_t run : batch.runs) batch_of[run] = &batch;
  std::string parts;
  const Batch* last = nullptr;
  for (const PlannedRun& run : plan.runs) {
    const Batch* batch = batch_of.at(run.number);
    if (batch != last) parts += (last == nullptr ? "submit " : "\nsubmit ") + batch->file;
    parts += " " + run_name(run.number);
    last = batch;
  }
  return {"submit.sh", filled(kSubmit, {{"@PARTS@", parts + "\n"}})};
}

}  // namespace

std::vector<Batch> batches_of(const Plan& plan) {
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> by_size;
  for (const PlannedRun& run : plan.runs) {
    const spec::Job& job = plan.job_of(run).job;
    by_size[{job.nodes(), gpus_per_node(job)}].push_back(run.number);
  }
  std::vector<Batch> batches;
  for (const auto& [size, runs] : by_size) {
    const auto& [nodes, gpus] = size;
    batches.push_back({by_size.size() == 1 ? "submit.sbatch"
                                           : fmt::format("submit-{}x{}-gpus.sbatch", nodes, gpus),
                       nodes, gpus, runs});
  }
  return batches;
}

SchedulerPart slurm_part(const Plan& plan) {
  SchedulerPart part;
  part.node_start = kSlurmNodeStart;
  part.drive = "attempt=slurm-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}\n" +
               lock_text("$SLURM_JOB_ID", kSlurmAlive) +
               filled(kSlurmStart, {{"@CONTAINER@", container_words(plan.options.site)}}) +
               finish_text();
  const std::vector<Batch> batches = batches_of(plan);
  for (const Batch& batch : batches) part.files.push_back(batch_file(plan, batch));
  part.files.push_back(submit_file(plan, batches));
  return part;
}

}  // namespace ergometer::launch
