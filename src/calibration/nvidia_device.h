#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibration/device.h"

namespace ergometer::calibration {

/// Where the driver's libraries are looked for, the first that opens.
struct NvidiaLibraries {
  std::vector<std::string> nvml = {"libnvidia-ml.so.1"};
  std::vector<std::string> cuda = {"libcuda.so.1"};
  std::vector<std::string> cublas = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
};

/// A real NVIDIA GPU, by NVML's index. An error of kind kMissing says what this machine lacks.
Result<std::unique_ptr<Device>> open_nvidia_device(unsigned index,
                                                   const NvidiaLibraries& libraries = {});

}  // namespace ergometer::calibration
