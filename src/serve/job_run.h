#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"
#include "serve/push_format.h"
#include "watch/alerts.h"

namespace ergometer::serve {

/// What is on disk of one recorder's batches.
struct RecorderRow {
  std::string host;
  int64_t sequence = 0;  ///< of the last batch
  int64_t lost = 0;      ///< numbers that never came
  int64_t time_ns = 0;   ///< the server's, when the last batch came
  bool ended = false;
};

/// Power, heat and step time of a whole job at one time: a point of the page's history.
struct HistoryRow {
  int64_t time_ns = 0;
  double power_w = 0, hottest_c = 0;
  int64_t nodes = 0, gpus = 0;  ///< that were heard
  double step_s = 0;            ///< of the latest training step; 0: none is known
};

/// A state of an alert: a row of the table `alerts`, by rule, subject and when it began.
using AlertRow = watch::Alert;

/// One job's Run file, written by the server: readings of all its nodes, and beside them which
/// batches they came in, in the same transactions, so that none is lost or stored twice, whenever
/// the server ends. `ergometer analyze` reads the file at any time.
class JobRun {
 public:
  /// Makes the file or goes on with it. An error of kind kMissing where it cannot be written; an
  /// input error where it is another's.
  static Result<JobRun> open(const std::string& path, const std::string& job);
  JobRun(JobRun&&) noexcept;
  ~JobRun();

  const std::vector<run::Device>& devices() const;
  /// As of the last commit that succeeded.
  const std::map<std::string, RecorderRow>& recorders() const;
  std::vector<HistoryRow> history(size_t most) const;

  /// The device's number in the file, new or as before: a host's device of a kind and an index. Of
  /// two UUIDs these are two: a board was exchanged, or containers number theirs from 0 each.
  size_t device(const run::Device& device);
  /// False: it was seen before. `numbers`: of the push's devices. Kept in memory until `commit`.
  bool add(const Push& push, const PushBatch& batch, const std::vector<size_t>& numbers,
           int64_t now_ns);
  void add(const HistoryRow& row);
  /// Kept in memory until it is on disk, 4,096 at most: nobody sends it again.
  void add(const AlertRow& row);
  std::vector<AlertRow> open_alerts() const;
  /// What was predicted of the job, as JSON; empty: nothing. The latest is kept.
  const std::string& prediction() const;
  void set_prediction(const std::string& json);
  bool waits() const;
  /// On disk, or an error and nothing: what was added is forgotten, for who sent it sends again.
  Result<void> commit();

 private:
  struct State;
  explicit JobRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::serve
