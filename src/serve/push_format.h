#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/device_log.h"
#include "run/host_clock.h"

namespace ergometer::serve {

/// What one request to /push may hold; docs/push-format.md says the same.
struct PushLimits {
  static constexpr size_t kBytes = size_t{1} << 20, kName = 64, kText = 128;
  static constexpr size_t kDevices = 512, kBatches = 1024, kCells = 65536, kSteps = 1024;
  /// 1970 to 2116, as in Runs: differences stay within 64 bits.
  static constexpr int64_t kLatestNs = int64_t{1} << 62;
};

struct PushReading {
  size_t device = 0;  ///< into the push's devices
  run::Metric metric = run::Metric::kPower;
  run::Sample sample;
};

struct PushBatch {
  int64_t sequence = 0;     ///< from 1 on
  int64_t first = 0;        ///< number that it begins with, where it stands for several; 0: its own
  run::ClockReading clock;  ///< of the recorder when it wrote the batch
  bool end = false;         ///< the recording is over
  std::vector<PushReading> readings;
  std::vector<run::TrainingStep> steps;  ///< that the node's training log told of

  /// How many numbers never came, behind the one that was the latest.
  int64_t lost_behind(int64_t latest) const {
    const int64_t missing = (first > 0 ? first : sequence) - latest - 1;
    return missing > 0 ? missing : 0;
  }
};

/// A request to /push: who speaks, and batches in rising order of sequence.
struct Push {
  std::string recorder, host, job;
  int64_t started_ns = 0;
  std::string prediction;  ///< of the job, as JSON (run/file/prediction.h); empty: none
  std::vector<run::Device> devices;
  std::vector<PushBatch> batches;
};

/// Reads requests one after the other; keeps its memory between them. Metrics that are not known
/// here, and values outside a metric's range, are passed over.
class PushReader {
 public:
  PushReader();
  PushReader(PushReader&&) noexcept;
  ~PushReader();
  /// Input error: "line 2: \"sequence\": a whole number from 1 on is expected".
  Result<Push> read(std::string_view body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::serve
