#include "cli/mcp/mcp_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "base/json_writer.h"
#include "base/version.h"
#include "cli/mcp/mcp_tools.h"

namespace ergometer::cli {
namespace {

using Json = nlohmann::json;

/// JSON-RPC's own.
enum Code : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kUnknownMethod = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
};

struct RpcError {
  Code code;
  std::string message;
};

using Outcome = tl::expected<Json, RpcError>;

tl::unexpected<RpcError> fail(Code code, std::string message) {
  return tl::unexpected(RpcError{code, std::move(message)});
}

/// Newest first.
constexpr std::array<std::string_view, 3> kVersions = {"2025-06-18", "2025-03-26", "2024-11-05"};

Json initialize(const Json& params) {
  const std::string asked =
      params.contains("protocolVersion") && params.at("protocolVersion").is_string()
          ? params.at("protocolVersion").get<std::string>()
          : "";
  const auto known = std::ranges::find(kVersions, asked);
  return {{"protocolVersion", known == kVersions.end() ? kVersions.front() : *known},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", {{"name", "ergometer"}, {"version", base::version()}}},
          {"instructions",
           "Predicts time, power and heat of LLM training jobs. Answers are JSON documents; a job "
           "that does not fit in memory says so in memory.fits."}};
}

Json text_content(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

Outcome call_tool(const Json& params, const RunTool& run) {
  if (!params.contains("name") || !params.at("name").is_string())
    return fail(kInvalidParams, "params.name is missing; it is one of " + mcp_tool_names());
  const std::string name = params.at("name").get<std::string>();
  if (!is_mcp_tool(name))
    return fail(kInvalidParams,
                fmt::format("unknown tool '{}'; it is one of {}", name, mcp_tool_names()));
  const Json given = params.value("arguments", Json::object());
  if (!given.is_object())
    return fail(kInvalidParams, fmt::format("params.arguments: found a JSON {}, allowed: an object",
                                            given.type_name()));
  const Result<ToolAnswer> answer = call_mcp_tool(name, given, run);
  if (!answer)
    return Json{{"content", Json::array({text_content(answer.error().message)})},
                {"isError", true}};
  Json content = Json::array({text_content(answer->document)});
  if (!answer->notes.empty()) content.push_back(text_content(answer->notes));
  return Json{{"content", std::move(content)}, {"isError", false}};
}

Outcome result_of(const std::string& method, const Json& params, const RunTool& run) {
  if (method == "initialize") return initialize(params);
  if (method == "ping") return Json::object();
  if (method == "tools/list") return Json{{"tools", mcp_tool_list()}};
  if (method == "tools/call") return call_tool(params, run);
  return fail(kUnknownMethod,
              fmt::format("unknown method '{}'; it is one of initialize, ping, tools/list, "
                          "tools/call",
                          method));
}

Json response(const Json& id, const Outcome& outcome) {
  Json answer = {{"jsonrpc", "2.0"}, {"id", id}};
  if (outcome) {
    answer["result"] = *outcome;
  } else {
    answer["error"] = {{"code", outcome.error().code}, {"message", outcome.error().message}};
  }
  return answer;
}

/// One request's response; null: a notification, or a response, wants none.
Json respond(const Json& request, const RunTool& run) {
  if (!request.is_object())
    return response(nullptr, fail(kInvalidRequest, "a request is an object"));
  const bool asks = request.contains("id");
  const Json id = asks ? request.at("id") : Json();
  if (asks && !id.is_string() && !id.is_number() && !id.is_null())
    return response(nullptr, fail(kInvalidRequest, "id is a text or a number"));
  if (request.value("jsonrpc", Json()) != "2.0")
    return response(id, fail(kInvalidRequest, "jsonrpc is \"2.0\""));
  if (!request.contains("method")) {
    if (request.contains("result") || request.contains("error")) return nullptr;
    return response(id, fail(kInvalidRequest, "method is missing"));
  }
  if (!request.at("method").is_string())
    return response(id, fail(kInvalidRequest, "method is a text"));
  if (!asks) return nullptr;
  const Json params = request.value("params", Json::object());
  if (!params.is_object()) return response(id, fail(kInvalidParams, "params is an object"));
  try {
    return response(id, result_of(request.at("method").get<std::string>(), params, run));
  } catch (const std::exception& error) {
    return response(id, fail(kInternalError, fmt::format("internal error: {}", error.what())));
  }
}

/// On one line, whatever bytes the texts hold.
std::string line_of(const Json& json) { return json.is_null() ? "" : base::json_line(json); }

/// Whether brackets are inside each other no deeper than any message needs; a tree of more is not
/// built.
bool is_shallow(const std::string& text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return false;
  }
  return true;
}

}  // namespace

std::string mcp_answer(const std::string& message, const RunTool& run) {
  if (!is_shallow(message))
    return line_of(response(nullptr, fail(kInvalidRequest, "brackets are nested too deep")));
  const Json request = Json::parse(message, nullptr, false);
  if (request.is_discarded())
    return line_of(response(nullptr, fail(kParseError, "the message is not JSON")));
  if (!request.is_array()) return line_of(respond(request, run));
  if (request.empty())
    return line_of(response(nullptr, fail(kInvalidRequest, "the batch is empty")));
  Json answers = Json::array();
  for (const Json& one : request)
    if (Json answer = respond(one, run); !answer.is_null()) answers.push_back(std::move(answer));
  return answers.empty() ? "" : line_of(answers);
}

std::string mcp_too_long() {
  return line_of(response(
      nullptr,
      fail(kInvalidRequest, fmt::format("a message has at most {} bytes", kMostMcpBytes))));
}

}  // namespace ergometer::cli
