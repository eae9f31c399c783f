#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// One update of a sensor: the mean power over a stretch of time.
struct PowerWindow {
  int64_t start_ns = 0, end_ns = 0;
  double watts = 0;
};

/// What a GPU's sensors say of its mean power, stretch by stretch.
struct PowerWindows {
  std::string metric;  ///< "energy" (a counter's differences), "instant_power", ...; empty: none
  /// Lengths that a window may have: a power reading does not say over which time it is a mean. The
  /// sensor's period, and one second where a driver may average so long. Empty for a counter, whose
  /// windows lie between its changes.
  std::vector<double> lengths_s;
  double period_s = 0;               ///< of the sensor's updates
  std::vector<run::Sample> updates;  ///< in order of time; of a counter: its changes

  /// The windows that end `lag_s` before their updates. Of a counter `length_s` is not used.
  std::vector<PowerWindow> windows(double length_s, double lag_s) const;
};

/// The best series that the device has: an energy counter, else instant, plain or averaged power.
PowerWindows power_windows(const run::Device& device);

}  // namespace ergometer::analysis
