#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer catalog list [KIND]` and `ergometer catalog show [KIND] NAME`: the built-in models,
/// GPUs, nodes, clusters and parameter files.
std::vector<Flag> catalog_flags();
Result<int> run_catalog(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
