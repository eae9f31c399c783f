#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer mcp`: a server of the Model Context Protocol on standard input and output, a message
/// a line.
std::vector<Flag> mcp_flags();
Result<int> run_mcp(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
