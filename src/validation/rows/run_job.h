#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// A setting that the row leaves blank, and who filled it.
struct Fill {
  std::string setting;  ///< as in the setting table: "recompute_granularity"
  std::string value;
  std::string reason;  ///< "recipe defaults, NVIDIA-NeMo/...", "vTrain trains without SP", ...
};

/// What a measured run ran.
struct RunJob {
  spec::Job job;
  std::vector<Fill> fills;  ///< in the order in which they were filled
};

/// Turns a row into a job. What the row says comes first, then the model table, then the defaults
/// of the recipe behind the row, then the rules of its source, then the program's own defaults. The
/// error is the reason why the row cannot be predicted, in one sentence.
Result<RunJob> make_job(const MeasuredRun& run);

}  // namespace ergometer::validation
