#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

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
  return is_terminal(stream);
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

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0 && variable("TERM") != "dumb";
}

report::TextStyle terminal_style(std::FILE* stream) {
  if (fileno(stream) < 0) return {false, true};
  return {wants_colour(stream), is_utf8()};
}

}  // namespace ergometer::cli
