#include "optimize/outcome.h"

#include "base/check.h"
#include "engine/outcome/powered.h"
#include "engine/outcome/summary.h"
#include "engine/planned.h"

namespace ergometer::optimize {
namespace {

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
  for (const run::PowerPart& part : powered.power.node_parts)
    if (part.name == "fans") result.fans_w = part.watts;
  result.fits = memory.fits;
  result.memory_bytes = memory.worst().total();
  result.ranks = engine::rank_table(job, powered.timeline, powered.ranks);
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

Outcome mean_outcome(const std::vector<Outcome>& outcomes) {
  Outcome mean;
  const double share = 1.0 / static_cast<double>(outcomes.size());
  for (const Outcome& outcome : outcomes) {
    for (double Outcome::* member : {&Outcome::step_s, &Outcome::energy_j, &Outcome::gpu_energy_j,
                                     &Outcome::peak_w, &Outcome::max_c, &Outcome::inlet_c})
      mean.*member += share * (outcome.*member);
    mean.fits = outcome.fits;
    mean.memory_bytes = outcome.memory_bytes;
  }
  return mean;
}

Result<void> check_power_is_known(const spec::Job& job) {
  if (job.conditions.constant_clocks)
    return input_error(
        "optimize: weighs power and heat, which --clocks constant leaves out; leave it out");
  if (!engine::has_power_data(job))
    return input_error("optimize: the catalog does not know the power and heat of {} in {}",
                       job.cluster.node.gpu.name, job.cluster.node.name);
  return {};
}

Result<std::vector<Outcome>> play(const spec::Job& job, std::span<const uint64_t> seeds) {
  ERGOMETER_TRY(check_power_is_known(job));
  std::vector<Outcome> outcomes;
  ERGOMETER_TRY(
      engine::play_planned(job, true, [&](const engine::Planned& planned) -> Result<bool> {
        outcomes.clear();
        for (const uint64_t seed : seeds) {
          spec::Job drawn = job;
          drawn.conditions.seed = seed;
          const engine::EngineInput input{.job = drawn,
                                          .plan = planned.plan,
                                          .costs = planned.costs,
                                          .clocks_hz = {},
                                          .sampled_ranks = {},
                                          .stretch = planned.stretch};
          ERGOMETER_ASSIGN(const engine::Powered powered,
                           engine::power_and_heat(input, {.intervals = false, .ranks = true}));
          if (!powered.timeline.steady) return false;
          outcomes.push_back(outcome_of(drawn, powered, planned.memory));
        }
        return true;
      }));
  return outcomes;
}

}  // namespace ergometer::optimize
