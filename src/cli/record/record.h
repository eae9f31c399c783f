#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer record -- COMMAND...`: this machine's power, heat, clocks and counters while a
/// command runs, as a Run file. Ends as the command ends.
std::vector<Flag> record_flags();
Result<int> run_record(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
