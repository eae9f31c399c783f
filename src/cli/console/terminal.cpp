#include "cli/console/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace ergometer::cli {
namespace {

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

bool wants_colour(std::FILE* stream) {
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view force = variable("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  // mpirun shows its ranks a terminal of its own, behind which is a job's log more often than a
  // reader.
  return is_terminal(stream) && variable("OMPI_COMM_WORLD_SIZE").empty();
}

/// The locale's character set, by the rule of POSIX: the first of the three variables that is set
/// counts.
bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (locale.empty()) continue;
    for (const std::string_view charset : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (locale.find(charset) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

/// A name in a row of 300 columns is no longer found from its number.
size_t width_of(std::FILE* stream) {
  constexpr int64_t kLeast = 80, kMost = 200;
  int64_t columns = 0;
  winsize size = {};
  if (const auto told = base::parse_integer(variable("COLUMNS")); told && *told > 0)
    columns = *told;
  else if (isatty(fileno(stream)) != 0 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return static_cast<size_t>(std::clamp(columns, kLeast, kMost));
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0 && variable("TERM") != "dumb";
}

report::TextStyle terminal_style(std::FILE* stream) {
  if (fileno(stream) < 0) return {};
  return {wants_colour(stream), is_utf8(), width_of(stream)};
}

}  // namespace ergometer::cli
