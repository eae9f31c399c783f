#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace ergometer::cli {

/// The option --threads of commands that predict many jobs, and what it says: by default one thread
/// a processor.
Flag threads_flag();
base::Result<size_t> thread_count(const Arguments& arguments);

}  // namespace ergometer::cli
