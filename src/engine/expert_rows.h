#pragma once

#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// What uneven experts cost, by playing the job without them: `run::Run::experts`. The job as it
/// was played, then with even routing, and with every setting that would make ranks more even or
/// send fewer tokens, where the job has it otherwise. Empty of a job whose routing is even.
Result<std::vector<run::ExpertRow>> expert_rows(const spec::Job& job, const run::Run& played);

}  // namespace ergometer::engine
