#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/power/activity.h"
#include "engine/power/fleet.h"
#include "physics/governor.h"

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
  /// `activity`: at the reference clock, in slices of about the power governor's window. Both are
  /// kept by reference and stay as they are.
  GovernedStep(const Fleet& fleet, const StepActivity& activity);

  /// Clocks and power with the step's length given: `step_s` in all, slices in the proportion of
  /// the activity's.
  void at_length(double step_s, const Surroundings& surroundings, FleetStep& step) const;
  /// Clocks, length and power when `reference_hz` is the clock at which the activity's length
  /// holds.
  void at_pace(double reference_hz, const Surroundings& surroundings, FleetStep& step) const;
  /// Slices may go beyond the cap as far as boards do in bursts, in steps after this one as far as
  /// the mean of `step` leaves it at the cap; of steps that last longer than boards look back, a
  /// part of that. It is only ever taken back, so that rounds come to rest. Returns the most that
  /// was taken back now, over the cap: what `step` does not know yet.
  double trim(const FleetStep& step);
  /// By how much less than the cap slices are held to now, one a GPU.
  std::vector<double> trims_w() const;

 private:
  /// GPUs of a kind and slices that are decided at once.
  static constexpr size_t kGpus = 32, kSlices = physics::Governed::kMost / kGpus;

  /// What governors decide by, of GPUs that nothing tells apart the first: one number each.
  struct Boards {
    std::vector<size_t> gpu;
    std::vector<int32_t> role;
    std::vector<double> voltage, cap_w, trim_w, leakage_t0_w, ceiling_hz;
    std::vector<uint8_t> braked;
  };
  /// Some of them, of one kind, and what they leak now at relative voltage 1.
  struct Piece {
    const FleetKind* kind;
    size_t first, count;
    std::array<double, kGpus> leakage_w;
  };
  /// Of a piece, slice by slice.
  using Clocks = std::array<double, physics::Governed::kMost>;

  template <class Each>
  void for_each_piece(const Surroundings& surroundings, const Each& each) const;
  template <class Each>
  void for_each_slices(const Each& each) const;
  /// The loads of all slices in their lengths, as `index` has them.
  std::vector<physics::Load> loads_in(const std::vector<double>& slice_s) const;
  /// What is to be done, and how it answers the clock.
  struct Work {
    const std::vector<physics::Load>& loads;  ///< as `index` has them
    double at_hz;  ///< the first kind's clock at which they hold, or near which to look; 0: the
                   ///< highest
    bool follows;  ///< the pace goes along with the clock
  };
  /// The clocks of slices `first` up to `last`.
  void decide(const Piece& piece, const Surroundings& surroundings, size_t first, size_t last,
              const Work& work, Clocks& clock_hz) const;
  void find_pace(double reference_hz, const Surroundings& surroundings, FleetStep& step) const;
  void fill(double near_hz, const Surroundings& surroundings, FleetStep& step) const;
  struct Sums;
  void add_slice(const Piece& piece, size_t slice, const std::vector<physics::Load>& loads,
                 const FleetStep& step, const double* clock_hz, Sums& sums) const;
  /// In what is kept slice by slice and by `Fleet::row_of`.
  size_t rows() const { return activity_.roles.size() + 1; }
  size_t index(size_t slice, int32_t role) const {
    return slice * rows() + static_cast<size_t>(role + 1);
  }

  const Fleet& fleet_;
  const StepActivity& activity_;
  Boards boards_;
  std::vector<physics::Load> loads_;  ///< of slices at the reference clock, as `index` has them
  std::vector<double> shares_;        ///< of the slice that is clocked work, as `index` has them
};

}  // namespace ergometer::engine
