#pragma once

#include <vector>

#include "analysis/findings/trace_summary.h"
#include "run/run.h"

namespace ergometer::analysis {

/// What costs a predicted job time, by the Run's own numbers, the dearest first: the parts of its
/// breakdown (of the same names), the pipeline's bubble, recomputation, clocks that are held down
/// and GPUs that are slower than others, of which the engine played the step without. Joules are
/// the GPUs' own: of what waits, what they draw meanwhile whether or not they work; else all that
/// is drawn for it.
std::vector<Finding> run_findings(const run::Run& run);

}  // namespace ergometer::analysis
