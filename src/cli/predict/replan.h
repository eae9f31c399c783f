#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer replan JOB --changes FILE.yaml --length 8h`: a job over hours in which conditions
/// change, with and without another layout for each, and when its restart pays.
std::vector<Flag> replan_flags();
Result<int> run_replan(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
