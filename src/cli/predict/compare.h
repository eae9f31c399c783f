#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> compare_flags();
Result<int> run_compare(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
