#include "engine/simulate.h"

#include <span>
#include <utility>

#include "engine/interval.h"
#include "engine/kernel_list.h"
#include "engine/limiter.h"
#include "engine/link_use.h"
#include "engine/summary.h"

namespace ergometer::engine {

base::Result<Simulation> simulate_in_full(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  Simulation result;
  result.workload = workload::lower(job);
  result.plan = plan::make_plan(job, result.workload);
  result.memory = plan::memory(job, result.workload, result.plan.stages);
  result.costs = cost::price_plan(model, result.plan, job);
  result.stretch = settle_contention(job, result.plan, model, result.costs);

  const std::span<const double> one_clock(&result.costs.reference_clock_hz, 1);
  const EngineInput input{
      .job = job,
      .plan = result.plan,
      .costs = result.costs,
      .clocks_hz = options.clocks_hz.empty() ? one_clock : std::span(options.clocks_hz),
      .sampled_ranks = options.sampled_ranks,
      .stretch = result.stretch};
  result.timeline = options.engine == EngineKind::kSweep ? sweep(input) : simulate_events(input);

  result.run.performance = performance(job, result.timeline);
  add_interval(result.run.performance, job, result.timeline);
  result.run.memory = memory_summary(result.memory);
  result.run.links = link_use(input, result.timeline.step_s);
  if (options.all_ranks) result.run.ranks = rank_table(job, result.timeline);
  result.run.kernels = kernel_list(input, result.timeline.spans);
  result.run.limiter = limiter(input, result.timeline, result.run.performance);
  return result;
}

base::Result<run::Run> simulate(const spec::Job& job, const SimulateOptions& options) {
  ERGOMETER_ASSIGN(Simulation result, simulate_in_full(job, options));
  return std::move(result.run);
}

}  // namespace ergometer::engine
