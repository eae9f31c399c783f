#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "run/run.h"
#include "workload/workload.h"

namespace ergometer::engine {

/// Joules and seconds of something in a step, summed over ranks.
struct EnergyUse {
  double work_j = 0, standing_j = 0, seconds = 0;
  double joules() const { return work_j + standing_j; }
  EnergyUse& operator+=(const EnergyUse& other) {
    work_j += other.work_j;
    standing_j += other.standing_j;
    seconds += other.seconds;
    return *this;
  }
};

/// A step's energy by operator, by place and by role. Operators with `idle`, places with `idle`
/// and roles each add up to all of it.
struct EnergyTotals {
  std::vector<EnergyUse> operators, places, roles;
  /// By stage, phase, block and operator, from outside inwards: "stage 0;backward;dense layer;fc1",
  /// as folded stacks are written; idle time of stages too.
  std::vector<std::pair<std::string, EnergyUse>> stacks;
  EnergyUse idle;
};

/// What rows are called, by operator. What is no part of the model's blocks goes by its phase.
struct EnergyNames {
  std::vector<std::string> phase;  ///< a pass, "gradient_reduction", "gradient_norm",
                                   ///< "parameter_gather" or "pipeline_transfer"
  std::vector<std::string> block;  ///< "dense layer", "head", ...
  std::vector<std::string> kind;   ///< as `run::Kernel::category`
  std::vector<std::string> name, collective;
  /// Places: decoder layers, then blocks and phases outside of them.
  std::vector<std::string> places;
  std::vector<size_t> place;   ///< by operator: where it is outside of layers
  std::vector<bool> in_block;  ///< by operator
  /// Where an operator of a stage stands in stacks.
  std::string stack(size_t stage, size_t op) const;
  /// The place of an instruction that has an operator.
  size_t place_of(const plan::Instruction& it) const {
    const auto op = static_cast<size_t>(it.op);
    return in_block[op] && it.layer >= 0 ? static_cast<size_t>(it.layer) : place[op];
  }
};
EnergyNames energy_names(const plan::Plan& plan, const workload::Workload& workload);

/// Rows as `run::Power::step_energy` has them: phases as a step runs them, stages and layers by
/// number, else the dearest first; idle time last. `power`: its parts and its joules a step.
std::vector<run::EnergyRow> energy_rows(const EnergyTotals& totals, const EnergyNames& names,
                                        const run::Power& power, double ranks);

}  // namespace ergometer::engine
