#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/console/command.h"

namespace ergometer::cli {

/// A longer message is refused unread.
inline constexpr size_t kMostMcpBytes = 1 << 20;

/// Runs the command behind a tool, as `Command::run` does.
using RunTool = std::function<Result<int>(const Command&, const Arguments&, const Console&)>;

/// What the Model Context Protocol's server answers to one message (JSON-RPC 2.0): a line without
/// its end; empty where the message wants no answer.
std::string mcp_answer(const std::string& message, const RunTool& run);

/// What it answers to a message of more than `kMostMcpBytes`.
std::string mcp_too_long();

}  // namespace ergometer::cli
