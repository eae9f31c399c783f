#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer optimize JOB --knobs placement,layers,caps,clocks`: the same job on the same
/// machines, better placed, divided, capped and clocked; or the advice to leave it as it is.
std::vector<Flag> optimize_flags();
Result<int> run_optimize(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
