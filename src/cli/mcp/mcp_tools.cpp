#include "cli/mcp/mcp_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/text.h"
#include "cli/console/memory_stream.h"

namespace ergometer::cli {
namespace {

using Json = nlohmann::json;

struct Tool {
  std::string_view name, command, description, files;
};

constexpr std::array kTools = std::to_array<Tool>({
    {"simulate", "simulate",
     "Predicts one LLM training or inference job: step time with its 90 % interval, where the step "
     "goes, memory, traffic, power, heat. A job that does not fit in memory is an answer too.",
     "the model (catalog name, config.json), or files that say the job"},
    {"search", "search",
     "Finds the best parallel layouts of a job among all legal ones, and says what limits them. "
     "Give model, cluster, gpus and global_batch_size.",
     "the model, or files that say the job"},
    {"compare", "compare",
     "Says why one job is faster than another: every cause with its share of the difference. Give "
     "two files, or one and `with`.",
     "job files, Run files or traces; each is compared with the first"},
    {"analyze", "analyze",
     "Tells where the time and power of recorded jobs go: profiler traces, telemetry, Run files.",
     "files or folders"},
    {"explain", "simulate",
     "Explains one number of a simulated job: its formula, its inputs and where each comes from. "
     "Takes all that simulate takes, and `explain`: the number's name (mfu, memory.peak_bytes, "
     "op:qkv, energy).",
     "the model, or files that say the job"},
});

/// What writes files, starts programs, or is about terminals.
constexpr std::array<std::string_view, 12> kNotOffered = {
    "schedule-save", "run",          "report", "trace", "telemetry", "out",
    "save",          "megatron-run", "shard",  "json",  "quiet",     "help"};

bool is_offered(const Flag& flag) { return !base::contains(kNotOffered, flag.name); }

const Tool* find_tool(const std::string& name) {
  const auto tool = std::ranges::find(kTools, name, &Tool::name);
  return tool == kTools.end() ? nullptr : &*tool;
}

Json option_schema(const Flag& flag) {
  const bool on_or_off = flag.takes == Flag::Takes::kNothing || flag.takes == Flag::Takes::kSwitch;
  Json schema = {{"description", flag.help}};
  schema["type"] = on_or_off ? Json("boolean") : Json({"string", "number", "array"});
  return schema;
}

Json input_schema(const Tool& tool) {
  Json properties = {
      {"files", {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", tool.files}}}};
  for (const Flag& flag : all_flags(*find_command(tool.command))) {
    // What simulate takes is not said twice.
    const bool listed = tool.name == "explain" ? flag.name == "explain" : is_offered(flag);
    if (listed) properties[base::underscored(flag.name)] = option_schema(flag);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (tool.name == "explain") schema["required"] = Json::array({"explain"});
  return schema;
}

Result<std::string> option_text(const std::string& name, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  if (!value.is_array())
    return input_error(
        "{}: found a JSON {}, allowed: a text, a number, true, false or a list of "
        "texts and numbers",
        name, value.type_name());
  std::string text;
  for (const Json& one : value) {
    if (!one.is_string() && !one.is_number())
      return input_error("{}: found a JSON {} in the list, allowed: texts and numbers", name,
                         one.type_name());
    text += (text.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
  }
  return text;
}

Result<void> add_files(const Json& files, std::vector<std::string>& words) {
  if (!files.is_array())
    return input_error("files: found a JSON {}, allowed: a list of texts", files.type_name());
  for (const Json& file : files) {
    if (!file.is_string())
      return input_error("files: found a JSON {} in the list, allowed: texts", file.type_name());
    words.push_back(file.get<std::string>());
    if (words.back().starts_with('-'))
      return input_error("files: '{}' is an option, no file", words.back());
  }
  return {};
}

Result<Arguments> tool_arguments(const Tool& tool, const Command& command, const Json& given) {
  std::vector<std::string> words = {"--json"};
  if (given.contains("files")) ERGOMETER_TRY(add_files(given.at("files"), words));
  for (const auto& [name, value] : given.items()) {
    if (name == "files" || value.is_null()) continue;
    if (value.is_boolean()) {
      words.push_back(fmt::format("--{}{}", value.get<bool>() ? "" : "no-", name));
    } else {
      ERGOMETER_ASSIGN(const std::string text, option_text(name, value));
      words.push_back(fmt::format("--{}={}", name, text));
    }
  }
  ERGOMETER_ASSIGN(Arguments arguments, parse_arguments(command, words));
  arguments.command.clear();
  for (const Flag& flag : all_flags(command)) {
    if (flag.name != "json" && arguments.has(flag.name) && !is_offered(flag))
      return input_error("{}: no option of this tool, which writes no files and starts no programs",
                         base::underscored(flag.name));
  }
  if (tool.name == "explain" && arguments.value("explain").empty())
    return input_error("explain: the number's name is missing, such as mfu");
  return arguments;
}

}  // namespace

Json mcp_tool_list() {
  Json tools = Json::array();
  for (const Tool& tool : kTools)
    tools.push_back({{"name", tool.name},
                     {"description", tool.description},
                     {"inputSchema", input_schema(tool)},
                     {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  return tools;
}

bool is_mcp_tool(const std::string& name) { return find_tool(name) != nullptr; }

std::string mcp_tool_names() {
  std::string names;
  for (const Tool& tool : kTools)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", tool.name);
  return names;
}

Result<ToolAnswer> call_mcp_tool(const std::string& name, const Json& given, const RunTool& run) {
  const Tool& tool = *find_tool(name);
  const Command& command = *find_command(tool.command);
  ERGOMETER_ASSIGN(const Arguments arguments, tool_arguments(tool, command, given));
  MemoryStream out, err;
  ERGOMETER_TRY(run(command, arguments, Console{out.get(), err.get(), false}));
  return ToolAnswer{out.text(), err.text()};
}

}  // namespace ergometer::cli
