#include <fmt/format.h>
#include <regex.h>

#include "base/text.h"
#include "intake/shell_utilities.h"

// grep and sed of known text.

namespace ergometer::intake {
namespace {

using UtilityWords = std::vector<ShellText>;
using Filtered = std::optional<UtilityResult>;

/// Patterns that take no more than a line's length times their own.
bool is_plain_pattern(const std::string& pattern) {
  return pattern.size() < 200 && pattern.find('{') == pattern.npos;
}

Filtered grep(const UtilityWords& words, const std::string& input,
              const std::function<std::string(const std::string&)>& text_of_file) {
  bool inverts = false, quiet = false, extended = false, counts = false, any_case = false;
  std::vector<std::string> plain;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word.size() < 2 || word[0] != '-') {
      plain.push_back(word);
      continue;
    }
    for (const char c : word.substr(1)) {
      if (std::string_view("vqEicse").find(c) == std::string_view::npos) return std::nullopt;
      inverts = inverts || c == 'v';
      quiet = quiet || c == 'q';
      extended = extended || c == 'E';
      counts = counts || c == 'c';
      any_case = any_case || c == 'i';
    }
  }
  if (plain.empty() || !is_plain_pattern(plain.front())) return std::nullopt;
  std::string text = plain.size() == 1 ? input : "";
  for (size_t i = 1; i < plain.size(); ++i) text += text_of_file(plain[i]);
  if (plain.size() > 2 || ShellUnknowns::in(text) || ShellUnknowns::in(plain.front()))
    return std::nullopt;
  regex_t pattern;
  if (regcomp(&pattern, plain.front().c_str(),
              REG_NOSUB | (extended ? REG_EXTENDED : 0) | (any_case ? REG_ICASE : 0)) != 0)
    return std::nullopt;
  std::vector<std::string> found;
  bool too_long = false;
  for (const std::string& line : shell_lines(text)) {
    too_long = too_long || line.size() > 4'000;
    if (!too_long && (regexec(&pattern, line.c_str(), 0, nullptr, 0) == 0) != inverts)
      found.push_back(line);
  }
  regfree(&pattern);
  if (too_long) return std::nullopt;
  return UtilityResult{quiet    ? ""
                       : counts ? fmt::format("{}\n", found.size())
                                : join_shell_lines(found),
                       found.empty() ? 1 : 0};
}

/// One s/from/to/g whose `from` is no pattern.
struct Substitution {
  std::string from, to;
  bool everywhere = false;
};
std::optional<Substitution> substitution_of(const std::string& text) {
  if (text.size() < 4 || text[0] != 's') return std::nullopt;
  const std::vector<std::string> parts = base::split(text.substr(2), text[1]);
  if (parts.size() != 3 || parts[0].empty() || (!parts[2].empty() && parts[2] != "g"))
    return std::nullopt;
  // In a basic expression the others are plain, and these two within it.
  if (parts[0].find_first_of("\\.*[]") != std::string::npos || parts[0].front() == '^' ||
      parts[0].back() == '$' || parts[1].find_first_of("\\&") != std::string::npos)
    return std::nullopt;
  return Substitution{parts[0], parts[1], parts[2] == "g"};
}

Filtered sed(const UtilityWords& words, const std::string& input,
             const std::function<std::string(const std::string&)>& text_of_file) {
  std::vector<Substitution> substitutions;
  std::vector<std::string> files;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool named = word == "-e" && i + 1 < words.size();
    if (!named && word.starts_with('-')) return std::nullopt;
    if (named || substitutions.empty()) {
      const auto substitution = substitution_of(named ? words[++i].text : word);
      if (!substitution) return std::nullopt;
      substitutions.push_back(*substitution);
    } else {
      files.push_back(word);
    }
  }
  std::string text = files.empty() ? input : "";
  for (const std::string& file : files) text += text_of_file(file);
  if (text.starts_with('\x01') || substitutions.empty()) return std::nullopt;
  std::vector<std::string> lines = shell_lines(text);
  constexpr size_t kLongestLine = 100'000;
  for (std::string& line : lines)
    for (const Substitution& one : substitutions)
      for (size_t at = line.find(one.from); at != line.npos && line.size() < kLongestLine;
           at = one.everywhere ? line.find(one.from, at + one.to.size()) : line.npos)
        line.replace(at, one.from.size(), one.to);
  return UtilityResult{join_shell_lines(lines), 0};
}

}  // namespace

std::optional<UtilityResult> shell_filter(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file) {
  return words.front().text == "grep" ? grep(words, input, text_of_file)
                                      : sed(words, input, text_of_file);
}

}  // namespace ergometer::intake
