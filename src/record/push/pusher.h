#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "record/push/push_client.h"
#include "record/snapshot.h"
#include "record/stop_flag.h"
#include "run/host_clock.h"

namespace ergometer::record {

struct PushOptions {
  PushTarget target;
  std::string host, job;
  std::string prediction = {};  ///< of the job, as JSON (run/file/prediction.h); empty: none
};

/// The latest readings of a Snapshot as lines of docs/push-format.md: a head that says who
/// speaks, and batches that hold what was set since the one before.
class PushWriter {
 public:
  PushWriter(const PushOptions& options, std::string recorder, int64_t started_ns);
  std::string head(const std::vector<Snapshot::Latest>& latest) const;
  /// Numbered from 1 on. `last`: the recording ends.
  std::string batch(const std::vector<Snapshot::Latest>& latest, const run::ClockReading& clock,
                    bool last, const std::vector<run::TrainingStep>& steps = {});
  int64_t sequence() const { return sequence_; }

 private:
  std::string host_, job_, recorder_, prediction_;
  int64_t started_ns_, sequence_ = 0;
  std::vector<int64_t> sent_ns_;  ///< by device and metric: `set_ns` of the reading last written
};

/// Sends once a second what is new in a Snapshot, readings and steps, and again until the server
/// says that it is on its disk. What it did not take waits in memory, 8 MiB at most, then the
/// oldest goes. The recording waits for none of this, and its end for two seconds at most.
class Pusher {
 public:
  using Say = std::function<void(const std::string&)>;

  /// Input error: a URL that is none. `say` hears, once each, that the server does not answer or
  /// refuses, and that it takes readings again; from a thread of the Pusher.
  static Result<Pusher> start(const PushOptions& options, const Snapshot& snapshot, Say say);
  Pusher(Pusher&&) noexcept;
  ~Pusher();  ///< a last batch, and what time is left for it

  struct Outbox;

 private:
  Pusher(std::unique_ptr<StopFlag> stop, std::shared_ptr<Outbox> outbox);
  std::unique_ptr<StopFlag> stop_;
  std::shared_ptr<Outbox> outbox_;
  std::thread collector_, sender_;
};

/// What the readings of one job have in common, where nothing else was said: Slurm's job, or this
/// recording alone, "HOST-20250131T235959". Letters, digits and ".-_" of `wanted`, where it is not
/// empty.
std::string push_job(const std::string& wanted, const std::string& host, int64_t time_ns);

}  // namespace ergometer::record
