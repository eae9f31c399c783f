#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/device_fit.h"

namespace ergometer::calibration {

/// For people: every number with prior, value and standard error, what was left out, and how far
/// off the fit is on both halves. `truth`: of a simulated device.
std::string to_text(const DeviceRecord& record, const DeviceFit& fit,
                    const std::optional<DeviceModel>& truth);
std::string to_json(const DeviceRecord& record, const DeviceFit& fit);

/// A file of catalog/power, named `name`; numbers that the record does not determine say so. What
/// the measurement cannot see (FP8, links) is not in it.
std::string power_file(std::string_view name, const DeviceRecord& record, const DeviceFit& fit);
/// A file of catalog/cooling: one GPU at the coolant flow of the record.
std::string cooling_file(std::string_view name, const DeviceRecord& record, const DeviceFit& fit);

}  // namespace ergometer::calibration
