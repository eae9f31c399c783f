#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/device.h"

namespace ergometer::calibration {

/// What one GPU has done since it was opened.
struct WorkDone {
  double products = 0;      ///< matrix products of `device_work.h`
  double copied_bytes = 0;  ///< read and written
};

/// Keeps one GPU busy through CUDA's driver and cuBLAS, opened at run time, from a thread of its
/// own. Errors are of kind kMissing.
class CudaWork {
 public:
  /// `bus_id` as NVML has it.
  static Result<std::unique_ptr<CudaWork>> open(const std::vector<std::string>& cuda,
                                                const std::vector<std::string>& cublas,
                                                const std::string& bus_id);
  virtual ~CudaWork() = default;
  /// Takes effect behind what is under way, a few milliseconds.
  virtual void start(const DeviceLoad& load) = 0;
  virtual WorkDone done() const = 0;
  /// What went wrong on the GPU since, if anything.
  virtual Result<void> status() const = 0;
};

}  // namespace ergometer::calibration
