#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::optimize {

enum class Objective : uint8_t { kTime, kEnergy, kPeakPower, kTemperature };
std::string_view to_word(Objective objective);

/// What one play of a job on one draw of silicon says.
struct Outcome {
  uint64_t seed = 0;
  double step_s = 0;
  double energy_j = 0;      ///< cluster, a step
  double gpu_energy_j = 0;  ///< of its GPUs alone
  double peak_w = 0;        ///< cluster
  double max_c = 0;         ///< hottest GPU
  double inlet_c = 0;
  double fans_w = 0;  ///< a node's
  bool fits = true;   ///< in memory
  double memory_bytes = 0;
  std::vector<run::Rank> ranks;
};

/// What the objective wants less of: s, J, W, or the hottest GPU's rise above the inlet in K.
double value_of(Objective objective, const Outcome& outcome);

/// Of the same job on several draws of silicon, without its ranks.
Outcome mean_outcome(const std::vector<Outcome>& outcomes);

/// Refuses a job whose power and heat nobody knows: the catalog lacks what they need, or clocks are
/// held constant.
Result<void> check_power_is_known(const spec::Job& job);

/// Plays a job as `engine::simulate` does, with these seeds for its GPUs' silicon; the plan and its
/// prices are made once. An input error: `check_power_is_known`.
Result<std::vector<Outcome>> play(const spec::Job& job, std::span<const uint64_t> seeds);

}  // namespace ergometer::optimize
