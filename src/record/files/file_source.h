#pragma once

#include <string>
#include <vector>

#include "record/files/kept_file.h"
#include "record/source.h"
#include "record/sources.h"

namespace ergometer::record {

/// What files of the kernel say of a device: each begins with a number; the sum of the numbers
/// times their scales is the reading, in the metric's unit.
struct FileSensor {
  struct File {
    std::string path;
    double scale = 1;
  };
  size_t device = 0;
  run::Metric metric = run::Metric::kPower;
  std::vector<File> files;
  bool mean = false;        ///< of the files instead of their sum
  int64_t interval_ns = 0;  ///< not looked at more often
  double wraps_at = 0;  ///< a counter of one file that goes on at 0 behind this; 0: it never does
};

/// Devices and sensors as a source finds them.
struct FoundSensors {
  std::vector<run::Device> devices;
  std::vector<FileSensor> sensors;
  void add(size_t device, run::Metric metric, std::vector<FileSensor::File> files,
           int64_t interval_ns = 0) {
    sensors.push_back({.device = device,
                       .metric = metric,
                       .files = std::move(files),
                       .interval_ns = interval_ns});
  }
};

struct FileSourceKind {
  std::string name;
  bool slow = false;
  std::string none;    ///< why there is none: "no InfiniBand port"
  std::string denied;  ///< what to do where files are there and may not be read
};

/// Looks at every sensor that is wanted once; those that give no number are left out, and devices
/// that keep none. An error of kind kMissing when nothing is left.
Opened open_files(FileSourceKind kind, FoundSensors found, const SourceOptions& options);

/// Names of what is in a folder, sorted, numbers in them by their size: "hwmon2" before "hwmon10".
std::vector<std::string> entries(const std::string& folder);

}  // namespace ergometer::record
