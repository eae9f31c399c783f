#pragma once

#include <fmt/core.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import/telemetry/counter_turns.h"
#include "import/telemetry/node_parts.h"
#include "import/telemetry/options.h"
#include "run/device_log.h"

namespace ergometer::importer {

/// Puts a DeviceLog together from files of any kind: readings of one device may stand in several.
class LogBuilder {
 public:
  explicit LogBuilder(TelemetryOptions options = {}) : options_(options) {}
  const TelemetryOptions& options() const { return options_; }

  /// What is dropped and noted from here on is this file's.
  void begin_file(std::string name);
  const std::string& file() const { return file_; }

  /// What a file beside a recording says: one of an archive, whose texts are added, or of a folder.
  void add_beside(std::map<std::string, std::string> texts) { beside_.merge(texts); }
  Result<std::string> text_beside(const std::string& path) const;

  /// The device that `id` names on `host`; made when it is new. The reference holds until the next
  /// call.
  run::Device& device(run::DeviceKind kind, const std::string& host, const std::string& id);
  size_t device_number(run::DeviceKind kind, const std::string& host, const std::string& id);
  /// The GPU of this index in a file of one host.
  size_t gpu_number(int64_t index);
  run::Device& device_at(size_t number) { return log_.devices[number]; }

  /// Adds a reading, or drops one that no sensor gives.
  void add(size_t device, run::Metric metric, int64_t time_ns, double value, bool partial = false);
  void drop(std::string_view reason, int64_t count = 1);
  void note(std::string text);
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void note(fmt::format_string<Parts...> form, Parts&&... parts) {
    note(fmt::format(form, std::forward<Parts>(parts)...));
  }
  /// Nodes' logs that are equal to the last byte are one meter, copied: notes it of this file.
  void note_twin(std::string_view text);
  /// A log that is known as a whole: a device of a rank that is known already stays another.
  void add_log(run::DeviceLog log);
  run::DeviceLog& log() { return log_; }
  NodeParts& parts() { return parts_; }
  void add_turns(run::Metric metric, const CounterTurns& turns) { turns_[metric].add(turns); }
  /// By how many links a partial series is multiplied into an estimate.
  void set_links(size_t device, run::Metric metric, int64_t links);
  /// The job, in the contract's form.
  void set_job(std::string json) { job_ = std::move(json); }
  const std::string& job() const { return job_; }

  /// Puts everything in order and gives it away; ranks that no file states are counted.
  run::DeviceLog finish();

 private:
  void note_jump(const run::Device& device, const run::Series& series);
  void sort_samples();
  void number_ranks();

  TelemetryOptions options_;
  run::DeviceLog log_;
  std::map<std::string, size_t> devices_;
  std::map<std::string, size_t, std::less<>> reasons_;  ///< of this file, into log_.dropped
  std::string file_, job_;
  NodeParts parts_;
  std::map<run::Metric, CounterTurns> turns_;
  std::map<std::pair<size_t, size_t>, std::string> seen_;  ///< files by size and hash
  std::vector<std::string> twins_;
  std::map<std::string, std::string> beside_;  ///< by path
};

}  // namespace ergometer::importer
