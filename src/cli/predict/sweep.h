#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer sweep STUDY|FILE.csv`: every row of a study's matrix, one line a row.
std::vector<Flag> sweep_flags();
Result<int> run_sweep(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
