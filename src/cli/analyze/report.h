#pragma once

#include <vector>

#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> report_flags();
Result<int> run_report(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
