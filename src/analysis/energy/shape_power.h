#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/energy/power_windows.h"
#include "analysis/work/attribution.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Power read while nothing but one operator on inputs of one shape ran.
struct ShapePower {
  std::string name, shapes;
  int64_t windows = 0;
  double watts = 0, watts_error = 0;  ///< mean, and its standard error
};

/// Readings whose window held one operator on one shape and next to nothing else; at least three of
/// them. The most read first.
std::vector<ShapePower> power_by_shape(const run::RankTrace& trace, const Attribution& attribution,
                                       const std::vector<PowerWindow>& windows);

}  // namespace ergometer::analysis
