#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer calibrate --device`: measures one GPU for eight minutes and fits its power and heat.
Result<int> run_calibrate_device(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
