#pragma once

#include "engine/outcome/powered.h"
#include "engine/power/power_loop.h"
#include "engine/views/power_record.h"

namespace ergometer::engine {

/// The mean of a die that its governor holds lies no further above the limit.
inline constexpr double kHeldWithinK = 2;

/// Whether a mean clock leaves nothing to lower.
inline bool is_lowest(double clock_hz, const physics::GpuPower& gpu) {
  constexpr double kRounding = 1.001;
  return clock_hz <= kRounding * gpu.clocks.lowest_hz;
}

/// Up to so many times a power cap a mean is held to it: governors round off over a few windows.
inline constexpr double kHeldToCap = 1.005;

/// What the summary is made of.
struct PowerContext {
  const spec::Job& job;
  const Fleet& fleet;
  const StepActivity& activity;
  const PowerRecord& record;
  const PowerLoop& loop;
  bool ranks = false;        ///< fill the columns of every rank
  bool clock_costs = false;  ///< play the step with other clocks, for what clocks cost
};

/// Fills power, cluster_power, thermal and the ranks' columns of `result`: means and extremes of
/// the time line, nothing else.
void summarise_power(const PowerContext& context, Powered& result);

}  // namespace ergometer::engine
