#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// A torchtitan job file (TOML, 0.1 and 0.2: later versions take a Python function with the same
/// names) that runs a job for `steps` steps. `notes`: what torchtitan decides otherwise. An input
/// error: torchtitan has no such model or no words for this job.
Result<std::string> torchtitan_toml(const spec::Job& job, int64_t steps,
                                    std::vector<std::string>& notes);

/// That torchtitan can be told a job, its model apart, and a model.
Result<void> torchtitan_check(const spec::Job& job);
Result<void> torchtitan_check_model(const spec::Model& model);
/// That torchtitan runs what it is told of a job as the job says, without a note.
Result<void> torchtitan_same(const spec::Job& job);

}  // namespace ergometer::launch
