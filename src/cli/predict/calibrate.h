#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer calibrate --truth FILE...`: fits the catalog's numbers to measured runs.
std::vector<Flag> calibrate_flags();
Result<int> run_calibrate(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
