#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> merge_flags();
/// Joins what several hosts recorded of one job on one time base.
Result<int> run_merge(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
