#include "engine/simulate.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "cost/degraded.h"
#include "engine/interval.h"
#include "engine/kernel_list.h"
#include "engine/kernel_window.h"
#include "engine/limiter.h"
#include "engine/link_use.h"
#include "engine/powered.h"
#include "engine/run_phases.h"
#include "engine/step_tasks.h"
#include "engine/summary.h"

namespace ergometer::engine {
namespace {

void take(Powered powered, Simulation& result) {
  result.timeline = std::move(powered.timeline);
  result.played_at = std::move(powered.played_at);
  result.run.has_power = true;
  result.run.power = std::move(powered.power);
  result.run.cluster_power = std::move(powered.cluster_power);
  result.run.thermal = std::move(powered.thermal);
  result.run.telemetry = std::move(powered.telemetry);
  result.run.bands = std::move(powered.bands);
  result.run.ranks = std::move(powered.ranks);
}

/// The times of `ranks` with the power and heat of `powered`, if there are any.
std::vector<run::Rank> with_power_columns(std::vector<run::Rank> ranks,
                                          const std::vector<run::Rank>& powered) {
  for (size_t i = 0; i < powered.size(); ++i) {
    ranks[i].mean_power_w = powered[i].mean_power_w;
    ranks[i].peak_power_w = powered[i].peak_power_w;
    ranks[i].mean_gpu_c = powered[i].mean_gpu_c;
    ranks[i].max_gpu_c = powered[i].max_gpu_c;
    ranks[i].mean_clock_mhz = powered[i].mean_clock_mhz;
    ranks[i].throttled_time_fraction = powered[i].throttled_time_fraction;
  }
  return ranks;
}

/// All whose spans are needed, in order.
std::vector<int64_t> played_ranks(const SimulateOptions& options) {
  if (!options.kernels) return options.task_ranks;
  std::vector<int64_t> ranks;
  std::set_union(options.sampled_ranks.begin(), options.sampled_ranks.end(),
                 options.task_ranks.begin(), options.task_ranks.end(), std::back_inserter(ranks));
  return ranks;
}

/// The rows of `wanted` alone, which are in order.
template <class Row>
std::vector<Row> of_ranks(const std::vector<Row>& rows, const std::vector<int64_t>& wanted) {
  std::vector<Row> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), [&](const Row& row) {
    return std::binary_search(wanted.begin(), wanted.end(), row.rank);
  });
  return kept;
}

void add_detail(const EngineInput& input, const SimulateOptions& options, const Timeline& timeline,
                run::Run& run) {
  if (options.kernels)
    run.kernels = kernel_list(input, of_ranks(timeline.spans, options.sampled_ranks));
  if (!options.task_ranks.empty()) {
    run.tasks = step_tasks(input, of_ranks(timeline.spans, options.task_ranks));
    run.collectives = collective_use(input, of_ranks(timeline.spans, options.task_ranks), timeline);
    for (const spec::Slot& slot : input.job.cluster.node.slots)
      run.slots.push_back({slot.row, slot.lane});
  }
  if (options.most_kernels > 0) keep_window(run, options.most_kernels);
}

base::Result<std::vector<run::RunPhase>> phases_of(const spec::Job& job, const run::Power& power) {
  PhaseCost batch;
  if (job.conditions.run.eval_batches > 0) {
    ERGOMETER_ASSIGN(const run::Run evaluation, simulate(evaluation_of(job), {.intervals = false}));
    batch = {evaluation.performance.step_time_s, evaluation.power.cluster_mean_w};
  }
  ERGOMETER_ASSIGN(const double standing_w, standing_power_w(job));
  return run_phases(job.conditions.run, {power.duration_s / power.steps, power.cluster_mean_w},
                    batch, standing_w);
}

}  // namespace

base::Result<Simulation> simulate_in_full(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  Simulation result;
  result.workload = workload::lower(job);
  result.plan = plan::make_plan(job, result.workload);
  result.memory = plan::memory(job, result.workload, result.plan.stages);
  result.costs = cost::price_plan(model, result.plan, job);
  ERGOMETER_TRY(cost::degrade_links(job, result.plan, result.costs));
  result.stretch = settle_contention(job, result.plan, model, result.costs);

  const std::vector<int64_t> played = played_ranks(options);
  const std::span<const double> one_clock(&result.costs.reference_clock_hz, 1);
  const EngineInput input{
      .job = job,
      .plan = result.plan,
      .costs = result.costs,
      .clocks_hz = options.clocks_hz.empty() ? one_clock : std::span(options.clocks_hz),
      .sampled_ranks = played,
      .stretch = result.stretch};
  const bool events = options.engine == EngineKind::kEvents;
  const bool with_power =
      options.clocks_hz.empty() && !job.conditions.constant_clocks && has_power_data(job);
  if (with_power) {
    ERGOMETER_ASSIGN(
        Powered powered,
        power_and_heat(
            input, {.sampled_ranks = played,
                    .telemetry_ranks = options.telemetry_ranks.empty() ? options.sampled_ranks
                                                                       : options.telemetry_ranks,
                    .events = events,
                    .intervals = options.intervals,
                    .ranks = options.all_ranks,
                    .bands = options.bands,
                    .energy_of = options.energy_parts ? &result.workload : nullptr}));
    take(std::move(powered), result);
    if (job.conditions.run.given()) {
      ERGOMETER_ASSIGN(result.run.power.run_phases, phases_of(job, result.run.power));
    }
  } else {
    result.timeline = events ? simulate_events(input) : sweep(input);
    result.played_at = {result.costs, {input.clocks_hz.begin(), input.clocks_hz.end()}};
  }

  result.run.performance = performance(job, result.timeline);
  add_interval(result.run.performance, job, result.timeline);
  result.run.memory = memory_summary(job, result.memory);
  result.run.links = link_use(input, result.timeline.step_s);
  if (options.all_ranks)
    result.run.ranks = with_power_columns(rank_table(job, result.timeline), result.run.ranks);
  add_detail(input, options, result.timeline, result.run);
  result.run.limiter = limiter(input, result.timeline, result.run.performance);
  return result;
}

base::Result<run::Run> simulate(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(Simulation result, simulate_in_full(job, options));
  return std::move(result.run);
}

}  // namespace ergometer::engine
