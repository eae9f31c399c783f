#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/outcome/step_energy_rows.h"
#include "engine/power/activity.h"
#include "engine/power/fleet.h"
#include "engine/time/timeline.h"
#include "engine/views/power_record.h"
#include "run/run.h"

namespace ergometer::engine {

// A step's energy by what it is spent on. Of every role (the GPUs of a pipeline stage), the joules
// that the time line holds are divided by two rules:
//
//   work      core, HBM and links apart, in proportion to the operators' joules (cost/energy) on
//             that rail. So voltage, caps and the fast limiter scale all core work of a role alike.
//   standing  the rest (constant, leakage, clock tree, what smoothing burns), by time.
//             A moment belongs to what runs on the compute stream; where that stands still, to the
//             communication it waits for, as in the breakdown of the step time; else it is idle.
//             Communication that compute hides therefore takes its own work alone.
//
// Worked: a role's GPUs take 30 J in a step of 1 s, 12 J of it core work and 18 J standing. Of two
// operators one takes 2 J of core energy and 0.5 s, the other 4 J and 0.25 s: 4 + 9 = 13 J and
// 8 + 4.5 = 12.5 J, and 4.5 J while idle.

/// What a role's ranks draw in a step, all of them together.
struct RoleEnergy {
  double core_j = 0, memory_j = 0, link_j = 0, standing_j = 0;
  double ranks = 0;
};

/// What one rank of a role does, or a part of it, at the reference clock.
struct WorkUse {
  /// Seconds in which the compute stream is its, and in which it runs on any stream.
  std::array<double, kPartCount> charged_s{}, running_s{};
  physics::Energy energy;
};

/// Divides what a role draws over its work by the rules above.
class EnergyDivision {
 public:
  /// `all`: the role's whole work; `parts_s`: its breakdown of the step as played, mean over its
  /// ranks; time without work to charge it to is idle.
  EnergyDivision(const RoleEnergy& drawn, const WorkUse& all,
                 const std::array<double, kPartCount>& parts_s, double step_s);

  EnergyUse of(const WorkUse& part) const;
  EnergyUse idle() const { return standing(idle_s_); }

 private:
  EnergyUse standing(double seconds) const;

  RoleEnergy drawn_;
  double step_s_, idle_s_;
  double per_core_j_ = 0, per_memory_j_ = 0, per_link_j_ = 0;
  std::array<double, kPartCount> per_charged_s_{}, per_running_s_{};
};

/// What the energy of a step is found from; `gpus`, `power`: of the time that was played.
struct StepEnergyInput {
  const EngineInput& input;
  const workload::Workload& workload;
  std::span<const Energies> energies;  ///< by kind
  const Timeline& timeline;
  const Fleet& fleet;
  const std::vector<GpuRecord>& gpus;
  const run::Power& power;
};

/// A step's energy as `run::Power::step_energy` has it, over all GPUs of the job.
std::vector<run::EnergyRow> step_energy(const StepEnergyInput& from);

}  // namespace ergometer::engine
