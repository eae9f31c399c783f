#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/outcome/interval.h"
#include "run/run.h"
#include "validation/rows/measured_run.h"
#include "validation/rows/measurement.h"
#include "validation/rows/run_job.h"

namespace ergometer::validation {

/// A power, measured and predicted, W.
struct PowerQuantity {
  std::string name;  ///< "power_w_per_gpu" | "node_power_w"
  double measured = 0, predicted = 0;
  double low = 0, high = 0;  ///< 90 % interval of the prediction
};

/// What the simulator says about one measured row, beside what was measured.
struct Prediction {
  std::string skipped_reason;  ///< why nothing was predicted; empty when it was
  std::vector<Fill> fills;     ///< what the row left blank
  Measurement measured;
  run::Performance performance;
  run::Memory memory;
  double memory_bytes =
      0;  ///< what the row's memory is held to: the peak, or what lies between steps
  std::optional<PowerQuantity> power;  ///< of a row that gives one
  std::string power_skipped_reason;    ///< why a power that the row gives was not predicted
  engine::EvidenceKey kind;            ///< of the job; empty when there is none
  int64_t gpus = 0;
  /// Where the row belongs in a table, by dimension ("gpu", "parallelism", ...): of the job as
  /// resolved where there is one, else as the row spells it.
  std::map<std::string, std::string, std::less<>> traits;
};

/// Makes the row's job and simulates it. A row that cannot be predicted is an outcome, not an
/// error.
Prediction predict(const MeasuredRun& row);

/// Sets the traits that follow from the resolved job.
void add_traits(const spec::Job& job, Prediction& prediction);

/// All rows, `threads` at a time; `done` is called after each, from any thread. The outcome does
/// not depend on the number of threads.
std::vector<Prediction> predict(const std::vector<MeasuredRun>& rows, size_t threads,
                                const std::function<void()>& done);

/// The dimensions of `traits`: gpu, source, parallelism, scale, model, precision, framework, tier.
std::span<const std::string_view> trait_names();

/// "1 GPU", "2 to 8", "9 to 64", "65 to 512", "513 to 4096", "above 4096".
std::string scale_of(int64_t gpus);

}  // namespace ergometer::validation
