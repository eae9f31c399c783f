#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "import/telemetry/log_builder.h"
#include "run/device_log.h"

namespace ergometer::importer {

/// Steps from scalars by name, as programs log them for TensorBoard or Weights & Biases: by the
/// names that say how long a step took where a program writes them, else by the times at which each
/// step's first scalar was written.
class ScalarSteps {
 public:
  /// Of every step, before its scalars. `time_ns` is by any clock that runs on, `written_ns` since
  /// 1970; 0: not said.
  void begin(int64_t step, int64_t time_ns, int64_t written_ns);
  /// The program was started again: what the next step took is not the time since the last one, and
  /// steps may come once more.
  void restart() { ++starts_; }
  void add(std::string_view name, double value);
  /// In order of starts and numbers; those of which it is not known how long they took are left
  /// out.
  std::vector<run::TrainingStep> take() const;

 private:
  struct Step {
    int64_t first_ns = 0, written_ns = 0;
    std::optional<double> seconds;
    double tokens_per_s_per_gpu = 0;
  };
  std::map<std::pair<int64_t, int64_t>, Step> steps_;  ///< by start and number
  int64_t starts_ = 0;
  Step* current_ = nullptr;
  bool any_seconds_ = false;
};

}  // namespace ergometer::importer
