#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer loop PROGRAM.yaml`: post-training as a program of jobs, one iteration of it. Its exit
/// status says whether every phase fits beside what the others leave.
std::vector<Flag> loop_flags();
Result<int> run_loop(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
