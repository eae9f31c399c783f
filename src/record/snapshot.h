#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "record/source.h"

namespace ergometer::record {

/// Whether a step that came at `set_ns` still says how the job goes: for a minute, or as long as
/// three such steps take.
constexpr bool is_news(const run::TrainingStep& step, int64_t set_ns, int64_t now_ns) {
  constexpr double kMinute_s = 60, kSteps = 3, kNs = 1e-9;
  const double most_s = std::max(kMinute_s, kSteps * step.seconds);
  return static_cast<double>(now_ns - set_ns) * kNs <= most_s;
}

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

  /// What a training log told of steps.
  struct Steps {
    int64_t count = 0;                     ///< all so far
    int64_t set_ns = 0;                    ///< when the last one came
    std::vector<run::TrainingStep> steps;  ///< the latest of them, in order
  };
  static constexpr size_t kMostSteps = 1024;  ///< that are kept
  void add_step(const run::TrainingStep& step);
  /// Those behind the first `seen`, as far as they are kept.
  Steps steps_since(int64_t seen) const;
  /// The last one, while it is news.
  std::optional<run::TrainingStep> step_now(int64_t now_ns) const;

 private:
  mutable std::mutex mutex_;
  std::deque<run::TrainingStep> steps_;
  int64_t step_count_ = 0, step_set_ns_ = 0;
  std::vector<Latest> latest_;
};

}  // namespace ergometer::record
