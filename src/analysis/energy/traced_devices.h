#pragma once

#include <string>
#include <vector>

#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Which GPU of the telemetry a trace is of.
class TracedDevices {
 public:
  explicit TracedDevices(const run::DeviceLog& log);

  /// The one of the trace's rank; where no rank matches, the one whose index the trace's events
  /// name, if all telemetry is of one host; one trace and one GPU belong together. Null: none.
  /// `how` says by what they match.
  const run::Device* of(const run::RankTrace& trace, size_t traces, std::string& how) const;

 private:
  std::vector<const run::Device*> gpus_;
  bool one_host_ = false;
};

}  // namespace ergometer::analysis
