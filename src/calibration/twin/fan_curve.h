#pragma once

#include <optional>
#include <string>

#include "run/device_log.h"

namespace ergometer::calibration::twin {

/// How fast a node's fans turn by its hottest GPU, as `physics::fan_speed` has it, with one
/// standard deviation each.
struct FanCurve {
  double lowest = 0, lowest_error = 0;  ///< share of full speed
  double start_c = 0, start_error_k = 0;
  double full_c = 0, full_error_k = 0;
};

struct FanReadings {
  std::optional<FanCurve> curve;
  std::string not_told;  ///< why there is none
};

/// Of readings of fans as shares of full speed, a node's or else its GPUs', each beside the hottest
/// GPU of its host at that time: the lowest level, and the straight line of least squares where
/// speeds lie between it and full, which has to span 5 K.
/// Worked: 30 % up to 50 C and 65 % at 65 C: a rise of 7/3 % a degree, full at 80 C.
FanReadings fan_curve(const run::DeviceLog& log);

}  // namespace ergometer::calibration::twin
