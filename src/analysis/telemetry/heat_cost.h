#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// What clocks held below what was asked cost one GPU, by its power cap or by anything else.
///
///   lost = throttled time x (1 - mean clock while throttled / clock else)
///
/// Clock else is the GPU's own while nothing held it, or else the fastest of its kind's. Heat and
/// power brakes cost beside what the power cap allows: where no clock was free, it is the GPU's own
/// at its cap, or else the fastest of its kind's.
///
/// Worked: throttled 40 % of the time at 1,500 MHz, 1,980 MHz else: lost 0.4 (1 - 1500 / 1980) =
/// 9.7 % of the time. It holds for work whose speed follows the clock; memory-bound work and
/// waiting lose less, so it is an upper bound.
struct HeatCost {
  int64_t rank = -1;
  std::string host, host_label;
  std::string gpu;                ///< what it is called (analysis/telemetry/gpu_names.h)
  double throttled_fraction = 0;  ///< of the time with readings
  std::string reason;             ///< the one that held longest; "sw_power_cap" where it alone did
  double throttled_clock_mhz = 0;
  /// While nothing held the clock and a kernel was on the GPU (utilization, where it was read).
  double free_clock_mhz = 0;
  bool free_clock_is_peers = false;   ///< it has none: the fastest of its kind's instead
  bool free_clock_is_capped = false;  ///< none was free: while the power cap alone held the clock
  double lost_fraction = 0;
};
/// Of GPUs that were throttled at all and whose clock was read, those twice whose clock sometimes
/// the power cap alone held and sometimes something else; what lost most comes first.
std::vector<HeatCost> heat_costs(const run::DeviceLog& log, bool beside_traces = false);

}  // namespace ergometer::analysis
