#include "cli/mcp/mcp.h"

#include <iostream>

#include "cli/mcp/mcp_server.h"

namespace ergometer::cli {
namespace {

/// The next line, without its end; of a longer one than a message may be its beginning and one byte
/// more. False: there is none.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  int c = 0;
  while ((c = in.get()) != std::istream::traits_type::eof() && c != '\n')
    if (line.size() <= kMostMcpBytes) line += static_cast<char>(c);
  return c == '\n' || !line.empty();
}

}  // namespace

std::vector<Flag> mcp_flags() { return {}; }

Result<int> run_mcp(const Arguments&, const Console& console) {
  const auto run = [](const Command& command, const Arguments& arguments, const Console& tool) {
    return command.run(arguments, tool);
  };
  for (std::string line; read_line(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = line.size() > kMostMcpBytes ? mcp_too_long() : mcp_answer(line, run);
    if (answer.empty()) continue;
    console.answer(answer + '\n');
    if (std::fflush(console.out) != 0) break;
  }
  return 0;
}

}  // namespace ergometer::cli
