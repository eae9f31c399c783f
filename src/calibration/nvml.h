#pragma once

#include <string>
#include <vector>

#include "calibration/device.h"
#include "record/nvml/library.h"

namespace ergometer::calibration {

/// One GPU through NVIDIA's management library, by NVML's index: what a measurement sets and reads.
class Nvml {
 public:
  static Result<Nvml> open(const std::vector<std::string>& names, unsigned index);

  Result<DeviceLimits> limits() const;
  Result<std::string> bus_id() const;  ///< "00000000:19:00.0"
  Result<void> set_cap(double watts) const;
  Result<void> lock_clock(double hertz) const;
  Result<void> unlock_clock() const;
  /// Power, temperatures, clock and reasons; nothing of the work.
  Result<DeviceSample> read() const;

 private:
  Nvml(record::nvml::Library library, record::nvml::Handle device)
      : library_(std::move(library)), device_(device) {}
  const record::nvml::Functions& call() const { return library_.call(); }
  Result<void> check(int status, const char* what) const { return library_.check(status, what); }
  double lowest_clock_mhz() const;
  double field(unsigned id, double fallback) const;

  record::nvml::Library library_;
  record::nvml::Handle device_ = nullptr;
};

}  // namespace ergometer::calibration
