#pragma once

#include <vector>

#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> swarm_flags();
Result<int> run_swarm(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
