#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/device_log.h"

namespace ergometer::record {

/// CLOCK_REALTIME, nanoseconds since 1970.
int64_t now_ns();

/// A metric of a device of one source.
struct Reading {
  size_t device = 0;  ///< into the source's `devices()`
  run::Metric metric = run::Metric::kPower;
  run::Sample sample;
};

/// What one look at a source's sensors brought.
struct Batch {
  std::vector<Reading> readings;
  std::vector<std::string> notes;  ///< what the user should know, once: "GPU 3 no longer answers"

  void add(size_t device, run::Metric metric, int64_t time_ns, double value) {
    readings.push_back({device, metric, {time_ns, value}});
  }
  void clear() {
    readings.clear();
    notes.clear();
  }
};

/// Time spent in one kind of call to a driver, library or file.
struct CallCost {
  std::string call;  ///< "nvmlDeviceGetFieldValues"
  int64_t count = 0, total_ns = 0, longest_ns = 0;
  int64_t failed = 0;
};

/// Sensors of one kind: a vendor's library, files of the kernel, a controller, a Run played back.
/// Used by one thread at a time. Opened by the functions of record/sources.h.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string_view name() const = 0;  ///< "nvml", "rapl", "infiniband", ...
  /// Without series; host is filled in by the recorder. The same as long as the source lives.
  virtual std::span<const run::Device> devices() const = 0;
  /// Metrics that a device of it may give.
  virtual std::span<const run::Metric> metrics() const = 0;
  /// A read may take longer than a tick (a controller over the network): it gets a thread and a
  /// pace of its own. The others must not block.
  virtual bool slow() const { return false; }
  /// Looks at every sensor once and adds to `batch`, without clearing it. Readings that a driver
  /// buffered since the last look come with their own times, each once. A device that is gone is
  /// noted once and left out from then on; it is tried again now and then.
  virtual void read(Batch& batch) = 0;
  virtual std::vector<CallCost> costs() const = 0;
  /// Nothing more will come: a Run that was played back to its end.
  virtual bool finished() const { return false; }
};

}  // namespace ergometer::record
