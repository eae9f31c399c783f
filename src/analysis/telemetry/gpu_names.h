#pragma once

#include <map>
#include <string>

#include "run/device_log.h"

namespace ergometer::analysis {

/// What a log's GPUs are called in tables and findings, in the words of who looks after them:
///  - "node-3 gpu 5" where the readings are of several hosts; a file that says nothing of its host
///    stands for one: "node-3.csv gpu 5"; without an index "node-3 GPU-f4a2..." by the UUID;
///  - "GPU 5" where all are of one host;
///  - "rank 5's GPU" where the data tell of ranks alone, as a simulated Run's do.
/// Beside traces, whose words are ranks, " (rank 29)" stands behind the first two.
class GpuNames {
 public:
  explicit GpuNames(const run::DeviceLog& log, bool beside_traces = false);
  std::string of(const run::Device& gpu) const;
  /// For a table's first column: the same, but just the rank's number where there is one host.
  std::string in_table(const run::Device& gpu) const;
  std::string host_of(const run::Device& gpu) const;

 private:
  bool several_hosts() const { return hosts_.size() > 1; }
  std::map<std::string, std::string> hosts_;  ///< and what each is called
  bool beside_traces_ = false;
};

/// At the beginning of a sentence: "Rank 5's GPU", but "node-3 gpu 5".
std::string begin_sentence(std::string gpu);

}  // namespace ergometer::analysis
