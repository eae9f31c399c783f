#pragma once

#include <string>
#include <vector>

#include "cli/console/command.h"
#include "optimize/candidate.h"

namespace ergometer::cli {

/// `ergometer optimize JOB --knobs placement,layers,caps,clocks`: the same job on the same
/// machines, better placed, divided, capped and clocked; or the advice to leave it as it is.
std::vector<Flag> optimize_flags();
Result<int> run_optimize(const Arguments& arguments, const Console& console);

/// What `--knobs` names: "placement,layers".
Result<std::vector<optimize::Knob>> optimize_knobs(const std::string& text);

}  // namespace ergometer::cli
