#pragma once

#include <span>
#include <vector>

#include "engine/power_loop.h"
#include "physics/facility.h"
#include "run/run.h"

namespace ergometer::engine {

/// Power of a GPU in one slice, and how many GPU seconds it stands for.
struct PowerSample {
  double watts = 0, weight = 0;
};

/// A GPU at one moment, with what its power sensors see.
struct GpuMoment {
  double time_s = 0;
  int64_t rank = 0;
  double instant_w = 0, average_w = 0, die_c = 0, memory_c = 0, clock_hz = 0;
  uint32_t reasons = 0;
};
/// The same in the steps in which a driver reports it: milliwatts, whole degrees, kilohertz.
run::Telemetry sensor_reading(const GpuMoment& moment);

/// What happens inside one step, slice by slice: power, clocks, and the ripple of temperatures that
/// means over a step hide.
struct StepProfile {
  std::vector<PowerSample> samples;         ///< every rank in every slice
  std::vector<double> max_c, max_memory_c;  ///< one a GPU
  physics::PowerSeries cluster;             ///< at the plugs, in fine slices
  std::vector<double> role_burn_w;          ///< what smoothing burns, mean of a GPU of each role
  std::vector<run::Telemetry> telemetry;    ///< of the sampled ranks, as their sensors would read
  std::vector<run::TelemetryBand> bands;    ///< over all ranks, slice by slice
};

/// Plays the step of `loop` from the state of `heat`, twice, so that the second begins where a step
/// ends; `heat` moves on. Sensors update through one step, at most a few thousand times.
StepProfile step_profile(const PowerLoop& loop, const Fleet& fleet, const spec::Job& job,
                         FleetHeat& heat, std::span<const int64_t> sampled, bool bands = false);

}  // namespace ergometer::engine
