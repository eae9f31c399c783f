#pragma once

#include <string>
#include <vector>

#include "cli/console/command.h"

namespace ergometer::cli {

Result<int> run_search(const Arguments& arguments, const Console& console);

/// The answer of a whole search from the files of its shards, as the search itself would give it.
/// `arguments` are `merge`'s; with --out the whole's file is written too.
Result<int> merge_searches(const std::vector<std::string>& files, const Arguments& arguments,
                           const Console& console);

}  // namespace ergometer::cli
