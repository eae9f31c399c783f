#pragma once

#include <cstddef>

#include "base/result.h"
#include "cli/console/command.h"

namespace ergometer::cli {

/// The option --threads of commands that predict many jobs, and what it says: by default one thread
/// a processor that this process may use, and its share where processes of one job share them.
Flag threads_flag();
Result<size_t> thread_count(const Arguments& arguments, size_t processes_here = 1);

}  // namespace ergometer::cli
