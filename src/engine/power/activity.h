#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "cost/energy.h"
#include "engine/time/representative.h"
#include "engine/time/timeline.h"

namespace ergometer::engine {

/// What the ranks of one role do in a step, those of one class of loads on nodes of one kind, in
/// equal slices of it; the last ranks of a pipeline are idle in the first slices.
struct RoleActivity {
  std::vector<physics::Energy> slices;
  /// Seconds of each slice that are compute whose speed follows the clock, at the reference clock.
  std::vector<double> clocked_s;
};

/// A step as its power sees it: the work of every role over time, at the reference clock. Energies
/// of work do not depend on the clock but for the voltage, so at another clock the same joules
/// spread over another time.
struct StepActivity {
  double step_s = 0;
  int slices = 0;
  std::vector<RoleActivity> roles;  ///< as `Fleet::role` numbers them
  double slice_s() const { return step_s / slices; }
};

/// The same work in slices `factor` times as long; `factor` divides their number.
StepActivity coarser(const StepActivity& fine, int factor);

/// How a step is cut: coarse slices of about the power governor's window, each cut into fine ones
/// for peaks and the spectrum.
struct Slicing {
  double coarse_s = 0.1, fine_s = 0.005;
  int most_coarse = 256, least_fine = 64, most_fine = 8192;
};
struct StepActivities {
  StepActivity fine, coarse;  ///< the same work
  bool steady = true;         ///< as `LeftOut::steady`; else the rest is empty
  double step_s() const { return fine.step_s; }
};

/// When one rank of every role does what at the reference clock; of a role on nodes of several
/// kinds one on the slowest, and one of each.
struct StepTimes {
  std::vector<Activities> roles;
  std::vector<Activities> of_kinds;  ///< [role x kinds + kind], of such roles alone
  const Activities& of(size_t role, size_t kind) const {
    if (of_kinds.empty()) return roles[role];
    const Activities& own = of_kinds[role * (of_kinds.size() / roles.size()) + kind];
    return own.end_s.empty() ? roles[role] : own;
  }
  /// What a folded plan leaves out; the times of what follows its marks are so much too early.
  double left_out_s = 0;
  bool steady = true;
  double step_s = 0;  ///< whole
};
StepTimes reference_times(const EngineInput& input);

/// Whether an instruction's energy counts. A pipeline transfer's energy at each end counts what
/// that end sends and receives; the sender's is enough.
bool draws(const plan::Instruction& it);

/// What the plan's operators take out of GPUs of one kind: cost::price_energy, price_load_energy.
struct Energies {
  cost::EnergyTable even, per_load;
};
/// By group of the cluster's nodes.
Result<std::vector<Energies>> energies_of_groups(const spec::Job& job, const plan::Plan& plan);

/// One rank of every role, kind and class is looked at. `energies`: one a kind.
StepActivities step_activities(const EngineInput& input, std::span<const Energies> energies,
                               const Slicing& slicing);

}  // namespace ergometer::engine
