#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer validate FILE.csv`: measured runs beside their predictions, and how far off they are.
std::vector<Flag> validate_flags();
Result<int> run_validate(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
