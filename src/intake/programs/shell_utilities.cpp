#include "intake/programs/shell_utilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "intake/shell/shell_arithmetic.h"

namespace ergometer::intake {
namespace {

using Words = std::vector<ShellText>;
using Output = std::optional<UtilityResult>;

std::string with_escapes(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      made += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'n')
      made += '\n';
    else if (c == 't')
      made += '\t';
    else if (c == '\\')
      made += '\\';
    else
      made += std::string("\\") + c;
  }
  return made;
}

Output echo(const Words& words) {
  size_t at = 1;
  bool newline = true, escapes = false;
  for (; at < words.size(); ++at) {
    const std::string& word = words[at].text;
    if (word != "-n" && word != "-e" && word != "-E" && word != "-ne" && word != "-en") break;
    newline = newline && !base::contains(word, "n");
    escapes = escapes || base::contains(word, "e");
  }
  std::string text;
  for (size_t i = at; i < words.size(); ++i) text += (i == at ? "" : " ") + words[i].text;
  return UtilityResult{(escapes ? with_escapes(text) : text) + (newline ? "\n" : ""), 0};
}

/// Whole numbers without brackets of other kinds: what bc and expr are used for in launch scripts.
Output integers_of(std::string expression) {
  expression.erase(std::remove(expression.begin(), expression.end(), '\n'), expression.end());
  if (!ShellUnknowns::in(expression) &&
      expression.find_first_not_of("0123456789+-*/%() \t") != expression.npos)
    return std::nullopt;
  const ArithmeticScope nothing = {[](std::string_view) { return std::string(); },
                                   [](std::string_view, const std::string&) {}};
  const auto value = shell_arithmetic(expression, nothing);
  if (!value) return std::nullopt;
  return UtilityResult{*value + "\n", *value == "0" ? 1 : 0};
}

Output expr(const Words& words) {
  std::string expression;
  for (size_t i = 1; i < words.size(); ++i) expression += words[i].text + " ";
  return integers_of(expression);
}

Output bc(const Words& words, std::string input) {
  if (words.size() > 2 || (words.size() == 2 && words[1].text != "-l" && words[1].text != "-q"))
    return std::nullopt;
  // "scale=0; 64/8" says what holds anyway.
  if (constexpr std::string_view kWhole = "scale=0;";
      input.starts_with(kWhole) && words.size() == 1)
    input.erase(0, kWhole.size());
  // With -l a division has decimals.
  if (words.size() == 2 && words[1].text == "-l" && base::contains(input, "/")) return std::nullopt;
  Output result = integers_of(input);
  if (result) result->status = 0;
  return result;
}

Output seq(const Words& words) {
  std::vector<int64_t> numbers;
  std::string separator = "\n";
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].text.starts_with("-s")) {
      separator = words[i].text.substr(2);
      if (separator.empty() && i + 1 < words.size()) separator = words[++i].text;
      continue;
    }
    const auto number = base::parse_integer(words[i].text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const int64_t first = numbers.size() == 1 ? 1 : numbers.front();
  const int64_t step = numbers.size() == 3 ? numbers[1] : 1;
  constexpr int64_t kMostNumbers = 10'000;
  if (step == 0 || std::abs(first) > 1'000'000'000 || std::abs(numbers.back()) > 1'000'000'000 ||
      std::abs(step) > 1'000'000'000)
    return std::nullopt;
  std::string text;
  int64_t count = 0;
  for (int64_t i = first; step > 0 ? i <= numbers.back() : i >= numbers.back(); i += step) {
    if (++count > kMostNumbers) return std::nullopt;
    text += (text.empty() ? "" : separator) + std::to_string(i);
  }
  return UtilityResult{text.empty() ? "" : text + "\n", 0};
}

Output name_of_path(const Words& words) {
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  std::string path = words[1].text;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  if (words[0].text == "dirname") {
    if (words.size() > 2) return std::nullopt;
    return UtilityResult{(slash == path.npos ? "."
                          : slash == 0       ? "/"
                                             : path.substr(0, slash)) +
                             "\n",
                         0};
  }
  std::string name = slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1);
  if (words.size() == 3 && name != words[2].text && name.ends_with(words[2].text))
    name.resize(name.size() - words[2].text.size());
  return UtilityResult{name + "\n", 0};
}

Output real_path(const Words& words) {
  const std::string& path = words.back().text;
  if (words.size() < 2 || ShellUnknowns::in(path)) return std::nullopt;
  std::error_code error;
  const std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
  if (error) return std::nullopt;
  return UtilityResult{full.string() + "\n", 0};
}

Output first_or_last(const Words& words, const std::string& input) {
  int64_t count = 10;
  bool from = false;  // tail -n +2: from the second line on
  for (size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i].text;
    if (word == "-n" && i + 1 < words.size())
      word = words[++i].text;
    else if (word.starts_with("-n"))
      word = word.substr(2);
    else if (word.starts_with("-"))
      word = word.substr(1);
    from = words[0].text == "tail" && word.starts_with('+');
    const auto number = base::parse_integer(from ? word.substr(1) : word);
    if (!number || *number < 0) return std::nullopt;
    count = *number;
  }
  std::vector<std::string> lines = shell_lines(input);
  if (from) {
    if (ShellUnknowns::in(input)) return std::nullopt;
    const size_t skipped =
        std::min(lines.size(), static_cast<size_t>(std::max<int64_t>(count, 1)) - 1);
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(skipped));
    return UtilityResult{join_shell_lines(lines), 0};
  }
  // Of something unknown that is one mark, its first line is as unknown.
  const size_t kept = std::min(lines.size(), static_cast<size_t>(count));
  if (words[0].text == "head")
    lines.resize(kept);
  else
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kept));
  return UtilityResult{join_shell_lines(lines), 0};
}

Output translated(const Words& words, const std::string& input) {
  const bool deletes = words.size() == 3 && words[1].text == "-d";
  const bool options = words.size() > 1 && words[1].text.size() > 1 && words[1].text[0] == '-';
  if (words.size() != 3 || (options && !deletes)) return std::nullopt;
  const auto set = [](const std::string& text) -> std::string {
    if (text == "[:upper:]" || text == "A-Z") return "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (text == "[:lower:]" || text == "a-z") return "abcdefghijklmnopqrstuvwxyz";
    if (text == "[:space:]") return " \t\n";
    return with_escapes(text);
  };
  const std::string from = set(deletes ? words[2].text : words[1].text);
  const std::string to = deletes ? std::string() : set(words[2].text);
  // Ranges and classes beside those above.
  for (const std::string& text : {from, to})
    if (text.size() > 2 && text.size() != 26 && text.find_first_of("-[") != text.npos)
      return std::nullopt;
  if (from.empty() || (!deletes && to.empty())) return std::nullopt;
  std::string made;
  bool in_mark = false;
  for (const char c : input) {
    in_mark = c == '\x01' || (in_mark && c != '\x02');
    const size_t at = in_mark ? from.npos : from.find(c);
    if (at == from.npos)
      made += c;
    else if (!deletes)
      made += to[std::min(at, to.size() - 1)];
  }
  return UtilityResult{made, 0};
}

/// python -c "print(4 * 16 // 8)": whole numbers, none below zero, and no division with a rest.
Output python_sum(const Words& words) {
  if (words.size() != 3 || words[1].text != "-c") return std::nullopt;
  std::string text = words[2].text;
  std::erase(text, ' ');
  if (!text.starts_with("print(") || !text.ends_with(')')) return std::nullopt;
  text = text.substr(6, text.size() - 7);
  for (size_t at = text.find("int("); at != text.npos; at = text.find("int(", at))
    text.erase(at, 3);
  for (size_t at = text.find('/'); at != text.npos; at = text.find('/', at + 1)) {
    if (text.compare(at, 2, "//") != 0) return std::nullopt;
    text.erase(at, 1);
  }
  if (text.empty() || text.find_first_not_of("0123456789+*/%()") != text.npos) return std::nullopt;
  Output result = integers_of(text);
  if (result) result->status = 0;
  return result;
}

Output counted(const Words& words, const std::string& input, const ShellUnknowns& unknowns) {
  if (words.size() != 2) return std::nullopt;
  for (const std::string& line : base::split(input, '\n')) {
    if (!ShellUnknowns::in(line)) continue;
    const ShellUnknowns::Entry& entry = unknowns.entry(line);
    if (words[1].text != "-l" || entry.any_words || entry.many_lines || !entry.choices.empty())
      return std::nullopt;
  }
  if (words[1].text == "-l")
    return UtilityResult{fmt::format("{}\n", std::ranges::count(input, '\n')), 0};
  if (words[1].text != "-w") return std::nullopt;
  std::istringstream stream(input);
  int64_t count = 0;
  for (std::string word; stream >> word;) ++count;
  return UtilityResult{fmt::format("{}\n", count), 0};
}

/// A value as printf's conversions write it.
std::string printed_value(const std::string& value, char kind, const std::string& precision) {
  const auto digits = base::parse_integer(precision);
  constexpr int64_t kMostDigits = 50;
  const bool has_digits = digits && *digits >= 0 && *digits <= kMostDigits;
  if (kind == 's') return has_digits ? value.substr(0, static_cast<size_t>(*digits)) : value;
  if (std::string_view("diuxXo").find(kind) != std::string_view::npos) {
    const int64_t number = std::strtoll(value.c_str(), nullptr, 0);
    return kind == 'x'   ? fmt::format("{:x}", number)
           : kind == 'X' ? fmt::format("{:X}", number)
           : kind == 'o' ? fmt::format("{:o}", number)
                         : std::to_string(number);
  }
  const int places = has_digits ? static_cast<int>(*digits) : 6;
  const double number = std::strtod(value.c_str(), nullptr);
  return kind == 'f'   ? fmt::format("{:.{}f}", number, places)
         : kind == 'e' ? fmt::format("{:.{}e}", number, places)
         : kind == 'g' ? fmt::format("{:.{}g}", number, places)
                       : value;
}

}  // namespace

std::vector<std::string> shell_lines(const std::string& text) {
  std::vector<std::string> lines = base::split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string join_shell_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string shell_printf(const std::vector<ShellText>& words, size_t format_at) {
  if (format_at >= words.size()) return "";
  const std::string format = with_escapes(words[format_at].text);
  size_t next = format_at + 1;
  std::string text;
  constexpr size_t kLongestPrinted = 100'000;
  do {
    const size_t before = next;
    for (size_t i = 0; i < format.size() && text.size() < kLongestPrinted; ++i) {
      if (format[i] != '%' || i + 1 >= format.size()) {
        text += format[i];
        continue;
      }
      size_t end = i + 1;
      while (end < format.size() &&
             std::string_view("-0123456789.").find(format[end]) != std::string_view::npos)
        ++end;
      const std::string full_width = format.substr(i + 1, end - i - 1);
      const char kind = end < format.size() ? format[end] : 's';
      i = end;
      if (kind == '%') {
        text += '%';
        continue;
      }
      std::string value = next < words.size() ? words[next].text : kind == 'd' ? "0" : "";
      ++next;
      const size_t dot = full_width.find('.');
      const std::string width = full_width.substr(0, dot);
      if (!ShellUnknowns::in(value))
        value = printed_value(value, kind, dot == width.npos ? "" : full_width.substr(dot + 1));
      if (kind == 'q') value = quoted_word(value);
      if (kind == 'b') value = with_escapes(value);
      if (const auto size = base::parse_integer(width.starts_with('-') ? width.substr(1) : width);
          size && *size > 0 && *size < 1'000 && value.size() < static_cast<size_t>(*size)) {
        const size_t missing = static_cast<size_t>(*size) - value.size();
        if (width.starts_with('-'))
          value += std::string(missing, ' ');
        else
          value.insert(0, std::string(missing, width.starts_with('0') ? '0' : ' '));
      }
      text += value;
    }
    if (next == before) break;
  } while (next < words.size() && text.size() < kLongestPrinted);
  return text;
}

std::optional<UtilityResult> shell_utility(const std::vector<ShellText>& words,
                                           const std::string& input, ShellSession& session) {
  const std::string& name = words.front().text;
  if (name == "echo") return echo(words);
  if (name == "printf") {
    const bool dashes = words.size() > 2 && words[1].text == "--";
    return UtilityResult{shell_printf(words, dashes ? 2 : 1), 0};
  }
  if (name == "expr") return expr(words);
  if (name == "getopt") return shell_getopt(words);
  if (name == "bc") return bc(words, input);
  if (name == "seq") return seq(words);
  if (name == "basename" || name == "dirname") return name_of_path(words);
  if (name == "realpath" || name == "readlink") return real_path(words);
  if (name == "head" || name == "tail") return first_or_last(words, input);
  if (name == "tr") return translated(words, input);
  if (name == "cut" || name == "sort" || name == "uniq" || name == "paste")
    return shell_lines_of(words, input, session.unknowns);
  if (name == "python" || name == "python3") return python_sum(words);
  if (name == "wc") return counted(words, input, session.unknowns);
  if (name == "date" || name == "hostname" || name == "whoami")
    return UtilityResult{
        session.unknowns.mark(fmt::format("$({}) of {}", name, session.where(session.line))) + "\n",
        0};
  return std::nullopt;
}

}  // namespace ergometer::intake
