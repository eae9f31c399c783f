#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ergometer::calibration {

/// What a GPU is kept busy with: 16-bit matrix products, copies within its memory, or nothing.
enum class DeviceWork : uint8_t { kNothing, kMatrix, kCopy };
struct DeviceLoad {
  DeviceWork work = DeviceWork::kNothing;
  bool zeros = false;  ///< operands of matrix products all zero instead of random
  bool operator==(const DeviceLoad&) const = default;
};

/// What the GPU and its driver say they can do.
struct DeviceLimits {
  std::string name;
  double lowest_clock_hz = 0, highest_clock_hz = 0;
  double default_cap_w = 0, lowest_cap_w = 0, highest_cap_w = 0;
};

/// One look at the sensors, as the driver reports them.
struct DeviceSample {
  double time_s = 0;  ///< since the device was opened
  double instant_w = 0, average_w = 0;
  double die_c = 0, memory_c = 0;  ///< whole degrees; memory 0: not reported
  double clock_hz = 0;
  uint32_t reasons = 0;  ///< physics::EventReason bits
  /// Of the work, mean since the sample before.
  double flops_per_s = 0, cache_bytes_per_s = 0, memory_bytes_per_s = 0;
};

/// A GPU under measurement. Errors are of kind kMissing: the machine lacks a library, a permission,
/// a feature. The destructor stops the load and gives back default cap and clocks.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceLimits& limits() const = 0;
  virtual Result<void> set_cap(double watts) = 0;     ///< 0: the default
  virtual Result<void> lock_clock(double hertz) = 0;  ///< 0: none
  /// Works on this, from now until the next call.
  virtual Result<void> start(const DeviceLoad& load) = 0;
  /// Waits until `time_s` since the device was opened, then looks.
  virtual Result<DeviceSample> sample_at(double time_s) = 0;
};

}  // namespace ergometer::calibration
