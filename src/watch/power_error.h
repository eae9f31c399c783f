#pragma once

#include <string_view>
#include <vector>

#include "run/sensor_error.h"
#include "watch/job_now.h"

namespace ergometer::watch {

/// What the gains of sensors of power leave open of the latest readings of several devices, and
/// what a reading is a mean of (run/sensor_error.h). What happens between readings is not of it. It
/// points into who keeps the readings.
class PowerError {
 public:
  /// A device without a reading of power adds nothing.
  void add(const DeviceNow& device);
  /// Of their sum, half a 90 % interval; 0: none has a reading.
  double relative() const;
  /// The same of the single device of which most is open.
  double widest() const { return widest_; }
  double window_s() const { return window_s_; }  ///< of the sensor that sees least

 private:
  void look_up(const DeviceNow& device);

  run::Device sensor_;  ///< whose error and window these are
  std::string_view way_;
  run::EnergyError error_;
  double window_s_ = 0, widest_ = 0;
  std::vector<run::MeasuredEnergy> powers_;
};

}  // namespace ergometer::watch
