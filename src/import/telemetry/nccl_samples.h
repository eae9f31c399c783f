#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "import/telemetry/log_builder.h"
#include "run/device_log.h"

namespace ergometer::importer {

struct Label;

/// What NCCL's profiler plugin "inspector" tells Prometheus: bandwidths and times of collectives,
/// by communicator, node, kind and size of message. The plugin's versions spell names and labels
/// differently; all known spellings are read.
class NcclSamples {
 public:
  /// False: it is no sample of a collective.
  bool add(std::string_view name, const std::vector<Label>& labels, int64_t time_ns, double value);
  /// Puts the collectives down; those of which no time is known, nor can be, are dropped.
  void finish(LogBuilder& log);

 private:
  /// Communicator, host, GPU.
  using Member = std::tuple<std::string, std::string, std::string>;
  /// A member of it by place, kind, size in the exporter's words, time.
  using Key = std::tuple<size_t, std::string, std::string, int64_t>;

  std::map<Member, size_t> members_;
  std::vector<run::CollectiveLog> logs_;
  std::map<Key, run::CollectiveTiming> timings_;
};

/// The bytes of "1048576", "64KB" or, of a range, "33-34MB", its middle; 0: none of these.
double message_bytes(std::string_view text);

}  // namespace ergometer::importer
