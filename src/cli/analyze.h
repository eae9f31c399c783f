#pragma once

#include "cli/command.h"

namespace ergometer::cli {

/// `ergometer analyze FILE|FOLDER...`: where the time of recorded traces goes, rank by rank, and what
/// telemetry says of power and heat.
std::vector<Flag> analyze_flags();
base::Result<int> run_analyze(const Arguments& arguments, const Console& console);

/// `ergometer import FILE|FOLDER... --out RUN`: the same files as a Run file.
std::vector<Flag> import_flags();
base::Result<int> run_import(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
