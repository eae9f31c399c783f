#pragma once

#include <string>
#include <vector>

#include "calibration/device.h"

namespace ergometer::calibration {

/// One stretch of the measurement: cap, clock and load are set at its start. With a period the load
/// is on for its first half and off for its second, over and over.
struct PlanPhase {
  std::string name;  ///< "cap 400 W"
  double duration_s = 0;
  DeviceLoad load;
  double period_s = 0;  ///< 0: without pause
  double cap_w = 0;     ///< 0: the default
  double lock_hz = 0;   ///< 0: none
  double fitted_s = 0;  ///< up to here the fit sees it; what follows is held back and scored
};

/// About eight minutes: at rest; a step of matrix products; at rest; square waves of 0.1 to 30 s;
/// power caps over the allowed range; locked clocks; copies at two clocks; zero against random
/// operands; at rest. Each excites something the others do not:
///   rest after load   constant power, leakage as the die cools, slow heat modes
///   step              all resistances, heat modes of 1 to 60 s
///   square waves      fast heat modes, the sensor's window
///   caps, clocks      energy per FLOP, voltage against clock
///   copies            energy per byte, and the clock tree, which matrix products alone cannot tell
///                     from energy per FLOP: both go with f v^2
///   zeros             the share that depends on data
/// Half of it is held back: every second wave, cap and clock, and the second half of the others.
std::vector<PlanPhase> measuring_plan(const DeviceLimits& limits);

double duration_s(const std::vector<PlanPhase>& plan);
/// A line a phase: when, what, and which part the fit sees.
std::string to_text(const std::vector<PlanPhase>& plan);

}  // namespace ergometer::calibration
