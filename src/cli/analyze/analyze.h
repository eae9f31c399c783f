#pragma once

#include "cli/console/command.h"
#include "run/run.h"

namespace ergometer::cli {

/// `ergometer analyze FILE|FOLDER...`: where the time of recorded traces goes, rank by rank, and
/// what telemetry says of power and heat.
std::vector<Flag> analyze_flags();
Result<int> run_analyze(const Arguments& arguments, const Console& console);

/// `ergometer import FILE|FOLDER... --out RUN`: the same files as a Run file.
std::vector<Flag> import_flags();
/// What stands at `paths`, recorded by whatever tool, as a Run: what `import` keeps.
Result<run::Run> read_recorded(const std::vector<std::string>& paths, const Arguments& arguments,
                               const Console& console);
Result<int> run_import(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
