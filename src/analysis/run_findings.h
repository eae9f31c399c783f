#pragma once

#include <vector>

#include "analysis/trace_summary.h"
#include "run/run.h"

namespace ergometer::analysis {

/// What a simulated Run's own breakdown says costs time, mean over all ranks: exposed communication
/// by kind, and the optimizer; the dearest first. For Runs that do not hold the kernels of a whole
/// step, of which `find` would tell more.
std::vector<Finding> run_findings(const run::Run& run);

}  // namespace ergometer::analysis
