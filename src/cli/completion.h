#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer completion bash|zsh|fish`: a script for the shell, made from the commands' flags.
std::vector<Flag> completion_flags();
Result<int> run_completion(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
