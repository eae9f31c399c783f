#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer simulate MODEL|FILE... --cluster CLUSTER ...`: one job, from the settings to the
/// summary.
std::vector<Flag> simulate_flags();
Result<int> run_simulate(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
