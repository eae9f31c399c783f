#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "cli/mcp/mcp_server.h"

namespace ergometer::cli {

/// The tools and what they take, as `tools/list` shows them.
nlohmann::json mcp_tool_list();

bool is_mcp_tool(const std::string& name);
std::string mcp_tool_names();

/// What a tool says: the document that its command prints with --json, and its notes.
struct ToolAnswer {
  std::string document, notes;
};

/// `given`: an object, the options by name and the words under "files". Options that write files or
/// start programs are refused: who asks is a model.
Result<ToolAnswer> call_mcp_tool(const std::string& name, const nlohmann::json& given,
                                 const RunTool& run);

}  // namespace ergometer::cli
