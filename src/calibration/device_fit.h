#pragma once

#include <vector>

#include "calibration/device_model.h"

namespace ergometer::calibration {

/// What the record says of one number.
struct DeviceNumber {
  DeviceKnob knob;
  double prior = 0, value = 0;  ///< base unit
  double standard_error = 0;    ///< of the value's logarithm
  bool kept = false;            ///< the record does not determine it: it keeps its prior
  bool at_bound = false;        ///< as far from the prior as the fit goes: the best may lie beyond
};

/// Mean error of a prediction on the part that was fitted and on the part that was held back.
struct DeviceScore {
  double fitted = 0, held = 0;
  size_t fitted_count = 0, held_count = 0;
  /// An error's size, of which part; then their means.
  void add(bool is_held, double error) {
    (is_held ? held : fitted) += error;
    ++(is_held ? held_count : fitted_count);
  }
  void finish() {
    if (held_count > 0) held /= static_cast<double>(held_count);
    if (fitted_count > 0) fitted /= static_cast<double>(fitted_count);
  }
};

struct DeviceFit {
  DeviceModel model;
  std::vector<DeviceNumber> power, heat;
  DeviceScore power_error;  ///< ratio: mean over seconds of steady load of |predicted / seen - 1|
  DeviceScore die_error_c;  ///< mean absolute, samples of every 0.2 s
  DeviceScore memory_error_c;  ///< no counts where the device reports none
  /// What the held-back half must be predicted within.
  static constexpr double kPowerLimit = 0.05, kTemperatureLimitC = 2;
  bool within_limits() const {
    return power_error.held <= kPowerLimit && die_error_c.held <= kTemperatureLimitC;
  }
};

/// Fits first what is drawn, to seconds of steady load, then the heat network, driven by that
/// power, to the temperatures. Both by robust least squares on the logarithms with `prior` at 0
/// (calibration/least_squares.h), on the part of the record that is not held back. An input error
/// when the record has no steady load in it.
Result<DeviceFit> fit_device(const DeviceRecord& record, const DeviceModel& prior);

/// The two halves of it, for tests.
Result<void> fit_power(const DeviceRecord& record, DeviceFit& result);
void fit_heat(const DeviceRecord& record, DeviceFit& result);

/// Fills `numbers` from a finished fit: those that the data does not determine keep their prior.
/// Returns the x that remain.
std::vector<double> settle_numbers(const Problem& problem, const Fit& fit,
                                   std::span<const DeviceKnob> knobs, DeviceModel prior,
                                   std::vector<DeviceNumber>& numbers);
/// Slopes by differences of one thousandth.
Linearised linearise_by_differences(const Problem& problem, std::span<const double> x);

}  // namespace ergometer::calibration
