#pragma once

#include <span>
#include <vector>

#include "engine/power/activity.h"
#include "engine/power/fleet.h"

namespace ergometer::engine {

/// What of a step does not follow the clock (memory, links) slows down with it below this share of
/// the highest clock. Assumed; fitted on caps: 0.81 on V100, 0.63 on A40 (docs/models/clocks.md).
inline constexpr double kSlowMemoryClock = 0.5;

/// How much longer work takes at `clock_hz` than at `reference_hz` when `clocked_share` of it is
/// compute that follows the clock.
ERGOMETER_INLINE double slowdown(double clocked_share, double reference_hz, double clock_hz,
                                 double highest_hz) {
  const double slow_hz = kSlowMemoryClock * highest_hz;
  const double slower = slow_hz / clock_hz, slower_before = slow_hz / reference_hz;
  const double rest = (slower > 1 ? slower : 1) / (slower_before > 1 ? slower_before : 1);
  return clocked_share * reference_hz / clock_hz + (1 - clocked_share) * rest;
}

/// One GPU over one step.
struct GpuStep {
  double mean_w = 0;
  double peak_w = 0;        ///< in the busiest slice
  double memory_w = 0;      ///< of the mean, what the HBM turns into heat
  double core_w = 0;        ///< of the mean, work on the core's rail
  double active_w = 0;      ///< of the mean, the clock tree
  double clock_hz = 0;      ///< mean over time
  double effective_hz = 0;  ///< at which its compute takes as long as at the clocks of the slices
};

/// A step at the clocks that the GPUs' governors decide.
struct FleetStep {
  double step_s = 0;
  std::vector<double> slice_s;  ///< lengths of the slices at these clocks
  std::vector<GpuStep> gpus;
  /// What the governors last chose, by GPU and slice, when work went along with the clock and when
  /// the pace was given: where the next search begins. Kept from one call to the next with the same
  /// fleet and slices.
  std::vector<double> pace_hz, clock_hz;
};

/// What governors hold against: temperatures of the dies, ceilings of the thermal governor (0:
/// none), one a GPU.
struct Surroundings {
  std::span<const double> die_c, ceiling_hz;
};

/// A step at a glance: the clock of every GPU in every slice as if its governor knew the slice
/// beforehand, and what it draws. Where a step settles is found with it, and how far parameters
/// move that; what happens is played (engine/power/power_play.h).
///
/// Work is synchronous: a slice lasts as long as the slowest GPU at work in it needs
/// (`slowdown`). A GPU faster than the slowest waits: its work, hence its joules but for the
/// voltage, are the same, so it runs as high as its cap allows. Therefore two rounds: what could
/// each GPU run at if all went along with it; the lowest of that sets the pace; then what each runs
/// at, given the pace.
class GovernedStep {
 public:
  /// `activity`: at the reference clock, in slices of about the power governor's window.
  GovernedStep(const Fleet& fleet, const StepActivity& activity)
      : fleet_(fleet), activity_(activity) {}

  /// Clocks and power with the step's length given: `step_s` in all, slices in the proportion of
  /// the activity's.
  void at_length(double step_s, const Surroundings& surroundings, FleetStep& step) const;
  /// Clocks, length and power when `reference_hz` is the clock at which the activity's length
  /// holds.
  void at_pace(double reference_hz, const Surroundings& surroundings, FleetStep& step) const;

 private:
  /// What one GPU's governor decides by, beside the load.
  struct Board {
    size_t gpu;
    double leakage_w;
    double ceiling_hz;
  };
  /// Of GPUs that nothing tells apart the first.
  std::vector<Board> boards(const Surroundings& surroundings) const;
  /// The loads of all slices in their lengths, role by role.
  std::vector<physics::Load> loads_in(const std::vector<double>& slice_s) const;
  /// The share of the slice that is clocked work, role by role.
  std::vector<double> clocked_shares() const;
  physics::ClockDecision decide(const Board& board, const physics::Load& load,
                                const physics::Response& response, double& near_hz) const;
  void find_pace(double reference_hz, const std::vector<Board>& boards, FleetStep& step) const;
  /// Lowers `slowest_hz` to the clocks at which the GPU does its own work, slice by slice and then
  /// role by role.
  void find_slowest(double reference_hz, const Board& board,
                    const std::vector<physics::Load>& loads, const std::vector<double>& shares,
                    FleetStep& step, std::vector<double>& slowest_hz) const;
  void fill(const std::vector<Board>& boards, FleetStep& step) const;
  struct Sums;
  void add_slice(const Board& board, size_t slice, const std::vector<physics::Load>& loads,
                 FleetStep& step, Sums& sums) const;
  /// In what is kept slice by slice and role by role.
  size_t index(size_t slice, size_t role) const { return slice * activity_.roles.size() + role; }
  size_t role_of(size_t gpu) const { return static_cast<size_t>(fleet_.role[gpu]); }
  bool has_rank(size_t gpu) const { return fleet_.role[gpu] >= 0; }

  const Fleet& fleet_;
  const StepActivity& activity_;
};

}  // namespace ergometer::engine
