#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"
#include "run/host_clock.h"

namespace ergometer::run {

/// A Run that is written while the job runs. What was committed outlives the process, however it
/// ends, and any reader of Runs opens the file at any time, also while it is written.
class Recording {
 public:
  /// What was recorded, for `run` of the file: "command", "host", "started", ...
  struct Fact {
    std::string key, value;
  };

  /// Refuses a file that is there and is not a Run, as write_run does, or that another recording
  /// writes.
  static Result<Recording> create(const std::string& path, const std::vector<Fact>& facts);
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();  ///< commits what it can

  /// Its series are left aside. Returns the number that `add` takes.
  size_t add_device(const Device& device);
  /// Kept in memory until the next commit. A value outside the metric's range is dropped, counted.
  void add(size_t device, Metric metric, const Sample& sample);
  void add(const ClockReading& reading);
  void add(const ClockProbe& probe);
  /// A step as the training log `set_step_log` names tells of it.
  void add(const TrainingStep& step);
  void set_step_log(const std::string& file);
  void note(int64_t time_ns, const std::string& text);  ///< "GPU 3 no longer answers"
  void set(const Fact& fact);

  /// An error when the disk is full or gone; what was committed before stays, what was not is kept
  /// in memory (at most 64 MiB, then the oldest is dropped and counted) for the next try.
  Result<void> commit();
  /// Commits and makes the file a single one.
  Result<void> finish();

 private:
  struct State;
  explicit Recording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::run
