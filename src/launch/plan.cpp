#include "launch/plan.h"

#include <fmt/format.h>

#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "engine/simulate.h"
#include "launch/as_written.h"
#include "launch/launchable.h"
#include "launch/training.h"
#include "report/summary/job_json.h"
#include "spec/files/settings_record.h"
#include "spec/job/node_groups.h"

namespace ergometer::launch {
namespace {

constexpr int64_t kFirstSeed = 1234;  ///< Megatron-LM's default

/// Schedulers start as many processes on every node.
Result<void> fills_its_nodes(const PlannedJob& planned) {
  const int64_t gpus = planned.job.gpus, node = planned.job.cluster.node.gpus;
  if (gpus <= node || gpus % node == 0) return {};
  return input_error("{}: {} GPUs leave a node of {} GPUs half used", planned.id, gpus, node);
}

/// Ranks lie on the cluster's groups in order: whoever starts them must name the nodes so.
Result<void> check_unlike_nodes(const spec::Job& job, Scheduler scheduler) {
  if (!spec::is_mixed(job.cluster) || scheduler == Scheduler::kSsh) return {};
  return input_error(
      "launch: cluster {} has unlike nodes, and {} hands nodes out in an order of its own; take "
      "--scheduler ssh, whose hosts stand in the order of the cluster's groups",
      job.cluster.name, to_word(scheduler));
}

/// What the framework runs otherwise than the job says becomes what the job says.
Result<void> settle_as_written(Framework framework, PlannedJob& planned) {
  ERGOMETER_TRY(check_launchable(planned.job));
  ERGOMETER_ASSIGN(planned.settings,
                   as_written(framework, planned.settings, planned.job, planned.notes));
  ERGOMETER_ASSIGN(planned.job, spec::resolve(planned.settings));
  return {};
}

Result<PlannedJob> plan_job(NamedJob named, const PlanOptions& options) {
  PlannedJob planned;
  planned.id = std::move(named.id);
  const auto with_name = [&](base::Error error) {
    error.message = fmt::format("{}: {}", planned.id, error.message);
    return tl::unexpected(std::move(error));
  };
  auto settings = spec::without_files(named.settings);
  if (!settings) return with_name(std::move(settings).error());
  planned.settings = *std::move(settings);
  auto job = spec::resolve(planned.settings);
  if (!job) return with_name(std::move(job).error());
  planned.job = *std::move(job);
  ERGOMETER_TRY(check_unlike_nodes(planned.job, options.site.scheduler));
  ERGOMETER_TRY(fills_its_nodes(planned));
  auto settled = settle_as_written(options.framework, planned);
  if (!settled) return with_name(std::move(settled).error());
  auto run = engine::simulate(planned.job, {});
  if (!run) return with_name(std::move(run).error());
  planned.predicted = *std::move(run);
  if (!planned.predicted.memory.fits)
    return with_name(base::Error{base::ErrorKind::kNo, planned.predicted.memory.advice});
  planned.predicted.job_json = report::job_json(planned.job);
  planned.predicted.facts["settings"] = spec::settings_json(planned.settings);
  return planned;
}

/// The jobs of one repeat in random order (Fisher and Yates).
std::vector<size_t> order_of(size_t jobs, int64_t repeat, int64_t seed) {
  std::vector<size_t> order(jobs);
  for (size_t i = 0; i < jobs; ++i) order[i] = i;
  if (seed == 0) return order;
  const base::Random random(static_cast<uint64_t>(seed), static_cast<uint64_t>(repeat),
                            "order of runs");
  for (size_t i = jobs; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(i, static_cast<int64_t>(i)))]);
  return order;
}

Result<void> add_run(Plan& plan, size_t job, int64_t repeat) {
  PlannedRun run;
  run.number = static_cast<int64_t>(plan.runs.size()) + 1;
  run.job = job;
  run.repeat = repeat;
  run.seed = kFirstSeed + repeat - 1;
  PlannedJob& planned = plan.jobs[job];
  std::vector<std::string> notes;
  auto files =
      training_files(plan.options.framework, planned.job, {plan.options.steps, run.seed}, notes);
  if (!files)
    return tl::unexpected(
        base::Error{files.error().kind, fmt::format("{}: {}", planned.id, files.error().message)});
  run.files = *std::move(files);
  if (repeat == 1) planned.notes.insert(planned.notes.end(), notes.begin(), notes.end());
  plan.runs.push_back(std::move(run));
  return {};
}

}  // namespace

std::string run_name(int64_t number) { return fmt::format("{:03}", number); }

Result<Plan> make_plan(std::vector<NamedJob> jobs, const PlanOptions& options) {
  std::vector<std::optional<Result<PlannedJob>>> planned(jobs.size());
  for (NamedJob& job : jobs)
    settle_software(options.framework, fmt::format("--for {}", to_word(options.framework)),
                    job.settings);
  base::parallel_for(jobs.size(), options.threads,
                     [&](size_t i) { planned[i] = plan_job(std::move(jobs[i]), options); });
  Plan plan;
  plan.options = options;
  for (auto& job : planned) {
    if (!*job) return tl::unexpected(std::move(*job).error());
    plan.jobs.push_back(**std::move(job));
  }
  for (int64_t repeat = 1; repeat <= options.repeats; ++repeat)
    for (const size_t job : order_of(plan.jobs.size(), repeat, options.order_seed))
      ERGOMETER_TRY(add_run(plan, job, repeat));
  return plan;
}

}  // namespace ergometer::launch
