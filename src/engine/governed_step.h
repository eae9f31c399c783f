#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/activity.h"
#include "engine/fleet.h"

namespace ergometer::engine {

/// The event reasons that time is counted by.
inline constexpr std::array<uint32_t, 5> kCountedReasons = {
    physics::kApplicationsClocksSetting, physics::kSwPowerCap, physics::kSwThermalSlowdown,
    physics::kHwThermalSlowdown, physics::kHwPowerBrake};

/// Power is called a peak when it lasts as long as a sensor averages over: 25 ms on A100 and H100
/// (arXiv 2312.02741).
inline constexpr double kPeakS = 0.025;

/// One GPU over one step.
struct GpuStep {
  double mean_w = 0;
  double peak_w = 0;        ///< in the busiest fine slice
  double memory_w = 0;      ///< of the mean, what the HBM turns into heat
  double core_w = 0;        ///< of the mean, work on the core's rail
  double active_w = 0;      ///< of the mean, the clock tree
  double clock_hz = 0;      ///< mean over time
  double effective_hz = 0;  ///< at which its compute takes as long as at the clocks of the slices
  double throttled = 0;     ///< share of the step below the clock asked for
  std::array<float, kCountedReasons.size()> reasons{};  ///< share of the step
};

/// A step at the clocks that the GPUs' governors decide.
struct FleetStep {
  double step_s = 0;
  std::vector<double> slice_s;  ///< lengths of the slices at these clocks
  std::vector<double> pace_hz;  ///< by slice: the slowest clock at work
  std::vector<GpuStep> gpus;
};

/// What governors hold against: temperatures of the dies, ceilings of the thermal governor (0:
/// none), one a GPU.
struct Surroundings {
  std::span<const double> die_c, ceiling_hz;
};

/// Decides the clock of every GPU in every slice of a step, and what it draws.
///
/// Work is synchronous: a slice lasts as long as the slowest GPU at work in it needs,
///   d = d0 max (1 - g + g f0 / f),
/// g the share of the slice that follows the GPU's clock. A GPU faster than the slowest waits: its
/// work, hence its joules but for the voltage, are the same, so it runs as high as its cap allows.
/// A cap below what the knee of the voltage curve draws lengthens the slice until its joules fit.
/// Therefore two rounds: what could each GPU run at if all went along with it; the lowest of that
/// sets the pace; then what each runs at, given the pace.
class GovernedStep {
 public:
  /// `activity`: at the reference clock, in slices of about the power governor's window; `fine`: a
  /// multiple of its slices, for peaks.
  GovernedStep(const Fleet& fleet, const StepActivity& activity, const StepActivity& fine);

  /// Clocks and power with the step's length given: `step_s` in all, slices in the proportion of
  /// the activity's.
  void at_length(double step_s, const Surroundings& surroundings, FleetStep& step) const;
  /// Clocks, length and power when `reference_hz` is the clock at which the activity's length
  /// holds. `length_factor`: what the sweep found a step to last, over what its slices added up to.
  void at_pace(double reference_hz, double length_factor, const Surroundings& surroundings,
               FleetStep& step) const;

  /// Of slice `slice` at the clocks of `step`: power of every GPU, and of it the HBM's heat.
  void slice_power(int slice, const FleetStep& step, const Surroundings& surroundings,
                   std::span<double> watts, std::span<double> memory_w, std::span<double> clock_hz,
                   std::span<uint32_t> reasons) const;

  int slices() const { return activity_.slices; }
  const StepActivity& fine() const { return fine_; }

 private:
  physics::Load load(size_t gpu, size_t slice, double slice_s) const;
  physics::ClockDecision decide(size_t gpu, size_t slice, double slice_s,
                                const physics::Response& response,
                                const Surroundings& surroundings) const;
  double pace_of(size_t gpu, size_t slice, double reference_hz,
                 const Surroundings& surroundings) const;
  double working_clock(size_t gpu, const physics::ClockDecision& decision, size_t slice,
                       const FleetStep& step) const;
  void find_pace(double reference_hz, const Surroundings& surroundings, FleetStep& step) const;
  void fill(const Surroundings& surroundings, FleetStep& step) const;
  void fill_gpu(size_t gpu, const Surroundings& surroundings, FleetStep& step) const;
  size_t role_of(size_t gpu) const { return static_cast<size_t>(fleet_.role[gpu]); }
  bool has_rank(size_t gpu) const { return fleet_.role[gpu] >= 0; }

  const Fleet& fleet_;
  const StepActivity& activity_;
  const StepActivity& fine_;
  double knee_hz_ = 0;  ///< below it a lower clock does not lower the voltage
  /// [role][slice]: the busiest part within, as energy over the whole slice.
  std::vector<std::vector<physics::Energy>> busiest_;
};

}  // namespace ergometer::engine
