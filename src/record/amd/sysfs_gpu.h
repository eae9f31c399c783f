#pragma once

#include <string>
#include <vector>

#include "record/amd/gpu_metrics.h"
#include "record/amd/sensors.h"
#include "record/call_costs.h"

namespace ergometer::record::amd {

/// A small file of the kernel that is read again and again. It stays open: reading it from its
/// start asks the driver anew.
class DriverFile {
 public:
  DriverFile() = default;
  DriverFile(std::string path, size_t cost) : path_(std::move(path)), cost_(cost) {}
  DriverFile(DriverFile&& other) noexcept;
  DriverFile& operator=(DriverFile&&) = delete;
  ~DriverFile();

  /// At most `most` bytes into `to`, which keeps its memory; kNone where there is no such file.
  Status read(std::string& to, size_t most, CallCosts& costs);

 private:
  std::string path_;
  size_t cost_ = 0;
  int file_ = -1;
};

/// The table `gpu_metrics` of one GPU, which AMD's libraries read as well.
class GpuMetricsFile {
 public:
  GpuMetricsFile(const std::string& folder, CallCosts& costs);
  std::optional<GpuMetrics> read();

 private:
  CallCosts& costs_;
  DriverFile file_;
  std::string bytes_;
};

/// /sys/bus/pci/devices/0000:c1:00.0
std::string device_folder(const std::string& sys, const std::string& pci);

/// What the amdgpu driver's other files tell of the GPU whose device folder this is.
std::unique_ptr<Sensors> sysfs_sensors(const std::string& folder, CallCosts& costs);

/// AMD's GPUs under /sys/class/drm, in order of PCI address; empty where there are none.
std::vector<Gpu> find_sysfs_gpus(const std::string& sys, CallCosts& costs);

}  // namespace ergometer::record::amd
