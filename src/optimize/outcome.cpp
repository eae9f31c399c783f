#include "optimize/outcome.h"

#include <fmt/format.h>

#include "base/check.h"
#include "cost/degraded.h"
#include "engine/powered.h"
#include "engine/summary.h"
#include "engine/timeline.h"
#include "plan/memory.h"

namespace ergometer::optimize {
namespace {

/// A job planned and priced, but for what silicon changes.
struct Prepared {
  plan::Plan plan;
  cost::CostTable costs;
  engine::Stretch stretch;
  plan::MemoryReport memory;
};

base::Result<Prepared> prepare(const spec::Job& job) {
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  Prepared result;
  const workload::Workload workload = workload::lower(job);
  result.plan = plan::make_plan(job, workload);
  result.memory = plan::memory(job, workload, result.plan.stages);
  result.costs = cost::price_plan(model, result.plan, job);
  ERGOMETER_TRY(cost::degrade_links(job, result.plan, result.costs));
  result.stretch = engine::settle_contention(job, result.plan, model, result.costs);
  return result;
}

std::vector<run::Rank> rank_rows(const spec::Job& job, const engine::Powered& powered) {
  std::vector<run::Rank> rows = engine::rank_table(job, powered.timeline);
  for (size_t i = 0; i < rows.size() && i < powered.ranks.size(); ++i) {
    const run::Rank& from = powered.ranks[i];
    rows[i].mean_power_w = from.mean_power_w;
    rows[i].peak_power_w = from.peak_power_w;
    rows[i].mean_gpu_c = from.mean_gpu_c;
    rows[i].max_gpu_c = from.max_gpu_c;
    rows[i].mean_clock_mhz = from.mean_clock_mhz;
    rows[i].throttled_time_fraction = from.throttled_time_fraction;
  }
  return rows;
}

Outcome outcome_of(const spec::Job& job, const engine::Powered& powered,
                   const plan::MemoryReport& memory) {
  Outcome result;
  result.seed = job.conditions.seed;
  result.step_s = engine::performance(job, powered.timeline).step_time_s;
  result.energy_j = powered.power.energy_j_per_step;
  result.gpu_energy_j = powered.power.gpu_energy_j_per_step;
  result.peak_w = powered.power.cluster_peak_w;
  result.max_c = powered.thermal.max_gpu_c;
  result.inlet_c = powered.thermal.inlet_c;
  result.fits = memory.fits;
  result.memory_bytes = memory.worst().total();
  result.ranks = rank_rows(job, powered);
  return result;
}

}  // namespace

std::string_view to_word(Objective objective) {
  switch (objective) {
    case Objective::kTime: return "time";
    case Objective::kEnergy: return "energy";
    case Objective::kPeakPower: return "peak-power";
    case Objective::kTemperature: return "temperature";
  }
  ERGOMETER_CHECK(false, "every objective is listed");
}

double value_of(Objective objective, const Outcome& outcome) {
  switch (objective) {
    case Objective::kTime: return outcome.step_s;
    case Objective::kEnergy: return outcome.energy_j;
    case Objective::kPeakPower: return outcome.peak_w;
    case Objective::kTemperature: return outcome.max_c - outcome.inlet_c;
  }
  ERGOMETER_CHECK(false, "every objective is listed");
}

base::Result<std::vector<Outcome>> play(const spec::Job& job, std::span<const uint64_t> seeds) {
  if (job.conditions.constant_clocks || !engine::has_power_data(job))
    return base::input_error(fmt::format(
        "optimize: nothing is known of the power and heat of {} in {}, or clocks are constant",
        job.cluster.node.gpu.name, job.cluster.node.name));
  ERGOMETER_ASSIGN(const Prepared prepared, prepare(job));
  std::vector<Outcome> outcomes;
  for (const uint64_t seed : seeds) {
    spec::Job drawn = job;
    drawn.conditions.seed = seed;
    const engine::EngineInput input{.job = drawn,
                                    .plan = prepared.plan,
                                    .costs = prepared.costs,
                                    .clocks_hz = std::span(&prepared.costs.reference_clock_hz, 1),
                                    .sampled_ranks = {},
                                    .stretch = prepared.stretch};
    ERGOMETER_ASSIGN(
        const engine::Powered powered,
        engine::power_and_heat(
            input, {.sampled_ranks = {}, .events = false, .intervals = false, .ranks = true}));
    outcomes.push_back(outcome_of(drawn, powered, prepared.memory));
  }
  return outcomes;
}

}  // namespace ergometer::optimize
