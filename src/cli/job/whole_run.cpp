#include "cli/job/whole_run.h"

#include <algorithm>
#include <iterator>

#include "report/explain/assumptions.h"
#include "report/summary/job_json.h"

namespace ergometer::cli {
namespace {

/// Up to so many GPUs a Run holds the telemetry of all.
constexpr int64_t kMostTelemetryRanks = 64;

}  // namespace

std::vector<int64_t> first_of_every_stage(const spec::Job& job) {
  std::vector<int64_t> list;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    list.push_back(stage * job.stage_ranks());
  return list;
}

void add_detail(const spec::Job& job, bool sampled_telemetry, engine::SimulateOptions& options) {
  const std::vector<int64_t> first = first_of_every_stage(job);
  std::set_union(first.begin(), first.end(), options.sampled_ranks.begin(),
                 options.sampled_ranks.end(), std::back_inserter(options.task_ranks));
  if (job.gpus > kMostTelemetryRanks) {
    options.bands = true;
    options.telling = !sampled_telemetry;
    if (options.telemetry_ranks.empty()) options.telemetry_ranks = options.sampled_ranks;
  } else if (!sampled_telemetry) {
    for (int64_t rank = 0; rank < job.gpus; ++rank) options.telemetry_ranks.push_back(rank);
  }
}

Result<run::Run> whole_run(const spec::Job& job) {
  engine::SimulateOptions options;
  options.expert_rows = true;
  options.sequence_rows = true;
  options.all_ranks = options.energy_parts = true;
  options.sampled_ranks = first_of_every_stage(job);
  options.most_kernels = kMostKernels;
  add_detail(job, false, options);
  ERGOMETER_ASSIGN(run::Run run, engine::simulate(job, options));
  run.job_json = report::job_json(job);
  run.assumptions = report::assumptions(job);
  return run;
}

}  // namespace ergometer::cli
