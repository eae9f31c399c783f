#include "engine/simulate.h"

#include <span>
#include <utility>

#include "cost/degraded.h"
#include "engine/interval.h"
#include "engine/kernel_list.h"
#include "engine/limiter.h"
#include "engine/link_use.h"
#include "engine/powered.h"
#include "engine/summary.h"

namespace ergometer::engine {
namespace {

void take(Powered powered, Simulation& result) {
  result.timeline = std::move(powered.timeline);
  result.run.has_power = true;
  result.run.power = std::move(powered.power);
  result.run.cluster_power = std::move(powered.cluster_power);
  result.run.thermal = std::move(powered.thermal);
  result.run.telemetry = std::move(powered.telemetry);
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

  const std::span<const double> one_clock(&result.costs.reference_clock_hz, 1);
  const EngineInput input{
      .job = job,
      .plan = result.plan,
      .costs = result.costs,
      .clocks_hz = options.clocks_hz.empty() ? one_clock : std::span(options.clocks_hz),
      .sampled_ranks = options.sampled_ranks,
      .stretch = result.stretch};
  const bool events = options.engine == EngineKind::kEvents;
  const bool with_power =
      options.clocks_hz.empty() && !job.conditions.constant_clocks && has_power_data(job);
  if (with_power) {
    ERGOMETER_ASSIGN(Powered powered, power_and_heat(input, {.sampled_ranks = options.sampled_ranks,
                                                             .events = events,
                                                             .intervals = options.intervals,
                                                             .ranks = options.all_ranks}));
    take(std::move(powered), result);
  } else {
    result.timeline = events ? simulate_events(input) : sweep(input);
  }

  result.run.performance = performance(job, result.timeline);
  add_interval(result.run.performance, job, result.timeline);
  result.run.memory = memory_summary(result.memory);
  result.run.links = link_use(input, result.timeline.step_s);
  if (options.all_ranks)
    result.run.ranks = with_power_columns(rank_table(job, result.timeline), result.run.ranks);
  result.run.kernels = kernel_list(input, result.timeline.spans);
  result.run.limiter = limiter(input, result.timeline, result.run.performance);
  return result;
}

base::Result<run::Run> simulate(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(Simulation result, simulate_in_full(job, options));
  return std::move(result.run);
}

}  // namespace ergometer::engine
