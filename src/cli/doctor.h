#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer doctor`: what this program and this machine are, and whether everything works here.
std::vector<Flag> doctor_flags();
Result<int> run_doctor(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
