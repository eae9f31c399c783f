#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer together JOB.yaml JOB.yaml...`: jobs beside each other on one cluster. Its exit
/// status says whether all fit into memory and a feed, where one is given, holds.
std::vector<Flag> together_flags();
Result<int> run_together(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
