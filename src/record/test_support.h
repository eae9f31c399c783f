#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/test_support.h"
#include "record/sources.h"

namespace ergometer::record {

/// A folder for one test, made to look like /sys or /proc.
class FakeTree {
 public:
  /// Overwrites a file in place, as the kernel changes what an open file says.
  void write(const std::string& path, const std::string& text) const { folder_.put(path, text); }
  void remove(const std::string& path) const { std::filesystem::remove_all(folder_.path(path)); }
  std::string path(const std::string& of = "") const {
    return of.empty() ? folder_.root().string() : folder_.path(of);
  }

  /// What looks here for everything and asks no controller.
  SourceOptions options() const {
    SourceOptions options;
    options.sys = path("sys");
    options.proc = path("proc");
    options.ipmitool = "";
    return options;
  }

 private:
  base::TestFolder folder_;
};

/// One look, by device and metric.
using Look = std::map<std::pair<size_t, run::Metric>, double>;
inline Look look(Source& source) {
  Batch batch;
  source.read(batch);
  Look found;
  for (const Reading& reading : batch.readings)
    found[{reading.device, reading.metric}] = reading.sample.value;
  return found;
}

/// A source and what its last read brought.
class ReadSource {
 protected:
  std::vector<run::Sample> samples(run::Metric metric, size_t device = 0) const {
    std::vector<run::Sample> found;
    for (const Reading& reading : batch_.readings)
      if (reading.metric == metric && reading.device == device) found.push_back(reading.sample);
    return found;
  }
  std::vector<double> values(run::Metric metric, size_t device = 0) const {
    return base::mapped(samples(metric, device), &run::Sample::value);
  }
  bool gives(run::Metric metric) const {
    const auto all = source_->metrics();
    return base::contains(all, metric);
  }
  int64_t calls(const std::string& name) const {
    for (const CallCost& cost : source_->costs())
      if (cost.call == name) return cost.count;
    return 0;
  }

  std::unique_ptr<Source> source_;
  Batch batch_;
};

}  // namespace ergometer::record
