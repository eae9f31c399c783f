#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "base/text.h"
#include "intake/programs/shell_pattern.h"
#include "intake/programs/shell_utilities.h"

// awk of known text.

namespace ergometer::intake {
namespace {

constexpr int64_t kMostSummed = 1'000'000'000;
constexpr int64_t kHowMany = -2;

/// awk's way to say columns, [-F SEPARATOR] '[NR==LINE | /PATTERN/ | $COLUMN=="TEXT"] {print
/// $COLUMN, $COLUMN}', or the sum of one: '[/PATTERN/] {s+=$COLUMN} END {print s}'.
struct AwkProgram {
  std::unique_ptr<Pattern> pattern;
  int64_t line = 0;
  std::optional<int64_t> key_column;  ///< lines of which it is `key`
  std::string key;
  std::vector<int64_t> columns;  ///< 0: the line; -1: its last; kHowMany: how many it has
  bool sums = false;
};
using AwkTexts = std::map<std::string, std::string, std::less<>>;

std::optional<int64_t> column_number(std::string_view column) {
  if (column == "$NF") return -1;
  if (column == "NF") return kHowMany;
  const auto number = base::parse_integer(column.starts_with('$') ? column.substr(1) : "");
  return number && *number >= 0 ? std::optional(*number) : std::nullopt;
}

/// In front of the braces: which lines are meant.
bool read_lines(const std::string& lines, const AwkTexts& variables, AwkProgram& program) {
  if (lines.size() > 2 && lines.front() == '/' && lines.back() == '/') {
    program.pattern = std::make_unique<Pattern>(lines.substr(1, lines.size() - 2), true);
    return program.pattern->good() && lines.find('/', 1) == lines.size() - 1;
  }
  if (const size_t equals = lines.find("=="); lines.starts_with('$') && equals != lines.npos) {
    const std::string text = lines.substr(equals + 2);
    const auto variable = variables.find(text);
    const bool quoted =
        text.size() > 1 && text.front() == '"' && text.find('"', 1) + 1 == text.size();
    program.key_column = column_number(lines.substr(0, equals));
    program.key = quoted                        ? text.substr(1, text.size() - 2)
                  : variable == variables.end() ? ""
                                                : variable->second;
    // Of numbers 1 and 1.0 are the same.
    return program.key_column && (quoted || variable != variables.end()) &&
           !base::parse_number(program.key);
  }
  if (!lines.starts_with("NR==")) return lines.empty();
  const auto line = base::parse_integer(lines.substr(4));
  if (!line || *line < 1) return false;
  program.line = *line;
  return true;
}

bool read_columns(const std::string& list, AwkProgram& program) {
  for (const std::string& column : base::split(list.empty() ? "$0" : list, ',')) {
    const auto number = column_number(column);
    if (!number) return false;
    program.columns.push_back(*number);
  }
  constexpr size_t kMostColumns = 100;
  return program.columns.size() <= (program.sums ? 1 : kMostColumns);
}

std::optional<AwkProgram> awk_program(std::string text, const AwkTexts& variables) {
  // Blanks count within quotes alone.
  bool quoted = false;
  for (const char c : text) {
    quoted = c == '"' ? !quoted : quoted;
    if (quoted && (c == ' ' || c == ';')) return std::nullopt;
  }
  std::erase(text, ' ');
  std::erase(text, ';');
  AwkProgram program;
  const size_t brace = text.find('{'), end = text.find("}END{print");
  if (brace == text.npos || !text.ends_with('}')) return std::nullopt;
  if (!read_lines(text.substr(0, brace), variables, program)) return std::nullopt;
  std::string column;
  if (end != text.npos) {
    const std::string body = text.substr(brace + 1, end - brace - 1);
    const size_t adds = body.find("+=");
    const size_t last = end + std::string_view("}END{print").size();
    program.sums = true;
    if (adds == body.npos || adds == 0 ||
        text.substr(last, text.size() - 1 - last) != body.substr(0, adds))
      return std::nullopt;
    column = body.substr(adds + 2);
    if (column.empty()) return std::nullopt;
  } else if (text.compare(brace, 6, "{print") == 0) {
    column = text.substr(brace + 6, text.size() - brace - 7);
  } else {
    return std::nullopt;
  }
  if (!read_columns(column, program)) return std::nullopt;
  return program;
}

std::vector<std::string> awk_columns(const std::string& line, const std::string& separator) {
  if (!separator.empty()) return base::split(line, separator[0]);
  std::vector<std::string> columns;
  std::string column;
  for (const char c : line + " ") {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) column += c;
    if (!blank || column.empty()) continue;
    columns.push_back(column);
    column.clear();
  }
  return columns;
}

/// `awk -F: -v NAME=TEXT PROGRAM FILE...`
struct AwkCall {
  std::string separator;
  AwkTexts variables;
  std::vector<std::string> plain;  ///< the program, then its files
};

std::optional<AwkCall> awk_call(const std::vector<ShellText>& words) {
  AwkCall call;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word.starts_with("-F")) {
      call.separator = word.size() > 2        ? word.substr(2)
                       : i + 1 < words.size() ? words[++i].text
                                              : "";
      // One character is no pattern; but a blank is any, and t a tab.
      if (call.separator.size() != 1 || base::contains(" t", call.separator)) return std::nullopt;
    } else if (word == "-v" && i + 1 < words.size()) {
      const std::string& said = words[++i].text;
      const size_t equals = said.find('=');
      if (equals == said.npos || ShellUnknowns::in(said)) return std::nullopt;
      call.variables[said.substr(0, equals)] = said.substr(equals + 1);
    } else if (word.starts_with('-')) {
      return std::nullopt;
    } else {
      call.plain.push_back(word);
    }
  }
  if (call.plain.empty() || ShellUnknowns::in(call.plain.front())) return std::nullopt;
  return call;
}

}  // namespace

std::optional<UtilityResult> shell_awk(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string&)>& text_of_file) {
  if (auto number = awk_number(words)) return number;
  const auto call = awk_call(words);
  if (!call) return std::nullopt;
  const std::vector<std::string>& plain = call->plain;
  // Blanks within a pattern count.
  if (const size_t slash = plain.front().find('/');
      slash != std::string::npos &&
      base::contains(plain.front().substr(slash, plain.front().rfind('/') - slash), " "))
    return std::nullopt;
  const auto program = awk_program(plain.front(), call->variables);
  std::string text = plain.size() == 1 ? input : "";
  for (size_t i = 1; i < plain.size(); ++i) text += text_of_file(plain[i]);
  if (!program || ShellUnknowns::in(text)) return std::nullopt;
  std::vector<std::string> made;
  int64_t number = 0, sum = 0;
  for (const std::string& line : shell_lines(text)) {
    if (line.size() > kLongestFiltered) return std::nullopt;
    ++number;
    if (program->line > 0 && number != program->line) continue;
    if (program->pattern && !program->pattern->matches(line)) continue;
    const std::vector<std::string> columns = awk_columns(line, call->separator);
    const auto text_in = [&](int64_t column) {
      const auto count = static_cast<int64_t>(columns.size());
      if (column == kHowMany) return std::to_string(line.empty() ? 0 : count);
      const int64_t at = column < 0 ? count : column;
      return column == 0             ? line
             : at > 0 && at <= count ? columns[static_cast<size_t>(at) - 1]
                                     : std::string();
    };
    if (program->key_column && text_in(*program->key_column) != program->key) continue;
    std::vector<std::string> shown;
    for (const int64_t column : program->columns) shown.push_back(text_in(column));
    made.push_back(fmt::format("{}", fmt::join(shown, " ")));
    if (!program->sums || made.back().empty()) continue;
    const auto value = base::parse_integer(made.back());
    if (!value || *value < 0 || *value > kMostSummed) return std::nullopt;
    sum += *value;
  }
  if (program->sums) return UtilityResult{std::to_string(sum) + "\n", 0};
  return UtilityResult{join_shell_lines(made), 0};
}

}  // namespace ergometer::intake
