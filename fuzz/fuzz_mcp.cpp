// Messages to the Model Context Protocol's server: whatever comes, the answer is one line of
// JSON-RPC, and no option reaches a command that would write a file.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "cli/mcp/mcp_server.h"

namespace {

namespace cli = ergometer::cli;

ergometer::Result<int> run(const cli::Command& command, const cli::Arguments& arguments,
                           const cli::Console& console) {
  for (const char* writes : {"run", "report", "trace", "telemetry", "out", "save", "megatron-run"})
    ERGOMETER_CHECK(!arguments.has(writes), "a tool writes no files");
  ERGOMETER_CHECK(arguments.has("json"), "a tool's answer is a document");
  console.answer(command.name);
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string message(reinterpret_cast<const char*>(data), size);
  const std::string answer = cli::mcp_answer(message, run);
  if (answer.empty()) return 0;
  ERGOMETER_CHECK(answer.find('\n') == std::string::npos, "an answer is one line");
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  for (const auto& one : json.is_array() ? json : nlohmann::json::array({json}))
    ERGOMETER_CHECK(one.is_object() && one.value("jsonrpc", "") == "2.0" && one.contains("id") &&
                        one.contains("result") != one.contains("error"),
                    "an answer is a response");
  return 0;
}
