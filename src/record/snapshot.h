#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "record/source.h"

namespace ergometer::record {

/// The latest reading of every metric of every device: what the terminal and the metrics endpoint
/// show. Safe to use from several threads.
class Snapshot {
 public:
  struct Latest {
    run::Device device;                              ///< without series
    std::vector<std::optional<run::Sample>> values;  ///< by metric
    /// By metric, when it was set: a Run played back keeps old times in its samples.
    std::vector<int64_t> set_ns;

    const std::optional<run::Sample>& of(run::Metric metric) const {
      return values[static_cast<size_t>(metric)];
    }
  };

  /// Returns the number that `set` takes.
  size_t add_device(const run::Device& device);
  void set(size_t device, run::Metric metric, const run::Sample& sample);
  std::vector<Latest> look() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Latest> latest_;
};

}  // namespace ergometer::record
