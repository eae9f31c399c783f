#pragma once

#include <vector>

#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> plan_flags();
Result<int> run_plan(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
