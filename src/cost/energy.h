#pragma once

#include <vector>

#include "base/result.h"
#include "cost/given_choice.h"
#include "physics/energy.h"
#include "physics/gpu_power.h"
#include "plan/plan.h"
#include "spec/job/job.h"

namespace ergometer::cost {

/// Joules that an operator takes out of its rank's GPU, on top of what the GPU draws while it
/// waits; see cost/energy.cpp for the formulas. Prices a GPU's work once, when it is made; a GPU
/// without "power.*" parameters is an input error that names the first that is missing.
class EnergyModel {
 public:
  static Result<EnergyModel> make(const spec::Job& job);

  physics::Energy energy(const workload::Operator& op, const plan::GroupPlacement& where) const;

  /// What the model reads from the catalog and the job.
  struct Parameters {
    physics::EnergyPerWork work;    ///< at the job's operand activity
    double tile_m = 0, tile_n = 0;  ///< of GEMMs' output
    GivenChoice given;              ///< what collectives send
  };

 private:
  explicit EnergyModel(const Parameters& parameters) : p_(parameters) {}
  Parameters p_;
};

/// Energies of a plan's operators per role: [role][operator].
using EnergyTable = std::vector<std::vector<physics::Energy>>;
EnergyTable price_energy(const EnergyModel& model, const plan::Plan& plan);
/// What a rank's kernels take more for each load beyond one; empty: work is even. Collectives' stay
/// as they are: what one rank sends less, another does more.
EnergyTable price_load_energy(const EnergyModel& model, const plan::Plan& plan);

}  // namespace ergometer::cost
