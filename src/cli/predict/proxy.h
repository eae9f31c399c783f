#pragma once

#include <vector>

#include "base/result.h"
#include "cli/console/command.h"

namespace ergometer::cli {

std::vector<Flag> proxy_flags();
Result<int> run_proxy(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
