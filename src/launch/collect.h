#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/manifest.h"

namespace ergometer::launch {

enum class RunState : uint8_t { kNotRun, kFailed, kFinished };

/// What came back of a run, beside what was predicted of it.
struct RunResult {
  ManifestRun run;
  RunState state = RunState::kNotRun;
  int64_t attempts = 0;
  double predicted_step_s = 0;
  int64_t steps = 0;       ///< in the training log; 0: nothing was measured
  bool all_steps = false;  ///< the log reaches the last of those that were asked for
  /// Median of the second half of the steps, as `ergometer compare --predicted` takes it, and the
  /// 10th and 90th percentile of the same.
  double step_s = 0, step_low_s = 0, step_high_s = 0;
  /// A GPU's mean power and the hottest one's temperature: predicted of the steady state, and
  /// measured during those steps where the log says when they were. 0: not known.
  double predicted_gpu_w = 0, gpu_w = 0, predicted_max_gpu_c = 0, max_gpu_c = 0;
  double gpu_w_error = 0;  ///< of `gpu_w` by its sensors, half a 90 % interval, relative; 0: none
  int64_t recordings = 0;  ///< of nodes
  std::string merged;      ///< the file that joins them; empty: there are none
  std::vector<std::string> notes;  ///< what is missing or odd

  bool measured() const { return steps > 0; }
  /// A run that ended early is shown and counts for nothing.
  bool measured_in_full() const { return measured() && all_steps; }
  /// Of the prediction, as `ergometer validate` counts it: above 0 where it says too long.
  double error_pct() const { return 100 * (predicted_step_s / step_s - 1); }
  /// Of all GPUs, a step.
  double predicted_energy_j() const { return energy_j(predicted_gpu_w, predicted_step_s); }
  double energy_j() const { return energy_j(gpu_w, step_s); }

 private:
  double energy_j(double watts, double seconds) const {
    return watts * seconds * static_cast<double>(run.gpus);
  }
};

/// A job's runs together.
struct JobResult {
  std::string job;
  int64_t runs = 0, measured = 0;  ///< measured: in full
  double predicted_step_s = 0;
  double mean_step_s = 0;
  double deviation_s = 0;  ///< between repeats, n - 1 in the denominator; 0: fewer than two
  double error_pct = 0;
};

struct Collection {
  Manifest manifest;
  std::vector<RunResult> runs;
  std::vector<JobResult> jobs;  ///< in the order of their first runs
};

/// Reads what the finished attempts of a folder recorded and printed: joins the recordings of each
/// run's nodes (as `ergometer merge`) with its training log into `runs/NNN/measured.run`, and holds
/// that against its prediction. An input error: no folder of ours, a prediction that cannot be
/// read. What is broken of a run is a note of it.
Result<Collection> collect(const std::string& folder, size_t threads);

std::string collection_text(const Collection& collection);
std::string collection_json(const Collection& collection);

}  // namespace ergometer::launch
