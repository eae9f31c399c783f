#pragma once

#include "cli/command.h"

namespace ergometer::cli {

/// `ergometer analyze FILE|FOLDER...`: where the time of recorded traces goes, rank by rank.
std::vector<Flag> analyze_flags();
base::Result<int> run_analyze(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
