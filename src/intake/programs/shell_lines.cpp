#include <algorithm>

#include "base/text.h"
#include "intake/programs/shell_hosts.h"
#include "intake/programs/shell_utilities.h"

// cut, sort, uniq and paste of known lines.

namespace ergometer::intake {
namespace {

using LinesOutput = std::optional<UtilityResult>;

/// "2", "2-", "-3", "1,3-4": which of `count` fields or characters, in their own order.
std::optional<std::vector<bool>> chosen_of(const std::string& list, size_t count) {
  std::vector<bool> chosen(count, false);
  for (const std::string& part : base::split(list, ',')) {
    const size_t dash = part.find('-');
    const std::string low = part.substr(0, dash),
                      high = dash == part.npos ? low : part.substr(dash + 1);
    const auto begin = low.empty() ? base::Result<int64_t>(1) : base::parse_integer(low);
    const auto end = high.empty() && dash != part.npos
                         ? base::Result<int64_t>(static_cast<int64_t>(count))
                         : base::parse_integer(high);
    if (!begin || !end || *begin < 1 || *end < 0 || part == "-") return std::nullopt;
    for (int64_t i = *begin; i <= *end && i <= static_cast<int64_t>(count); ++i)
      chosen[static_cast<size_t>(i) - 1] = true;
  }
  return chosen;
}

LinesOutput cut(const std::vector<ShellText>& words, const std::string& input) {
  std::string delimiter = "\t", fields, characters;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    std::string* target = word.starts_with("-d")   ? &delimiter
                          : word.starts_with("-f") ? &fields
                          : word.starts_with("-c") ? &characters
                                                   : nullptr;
    if (target == nullptr) return std::nullopt;
    if (word.size() > 2)
      *target = word.substr(2);
    else if (i + 1 < words.size())
      *target = words[++i].text;
  }
  if (fields.empty() == characters.empty() || delimiter.size() != 1 || ShellUnknowns::in(input))
    return std::nullopt;
  std::vector<std::string> lines = shell_lines(input);
  for (std::string& line : lines) {
    if (fields.empty() ? line.empty() : line.find(delimiter[0]) == line.npos) continue;
    const std::vector<std::string> parts =
        fields.empty() ? std::vector<std::string>(line.size()) : base::split(line, delimiter[0]);
    const auto chosen = chosen_of(fields.empty() ? characters : fields, parts.size());
    if (!chosen) return std::nullopt;
    std::string made;
    bool first = true;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!chosen->at(i)) continue;
      if (fields.empty())
        made += line[i];
      else
        made += (first ? "" : delimiter) + parts[i];
      first = false;
    }
    line = std::move(made);
  }
  return UtilityResult{join_shell_lines(lines), 0};
}

/// sort, of lines or by whole numbers; uniq of neighbours. Nothing else of them is followed.
LinesOutput sorted(const std::vector<ShellText>& words, const std::string& input,
                   const ShellUnknowns& unknowns) {
  bool numbers = false, reversed = false, unique = words[0].text == "uniq";
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (unique || word.size() < 2 || word[0] != '-' ||
        word.find_first_not_of("nru", 1) != word.npos)
      return std::nullopt;
    numbers = numbers || base::contains(word, "n");
    reversed = reversed || base::contains(word, "r");
    unique = unique || base::contains(word, "u");
  }
  std::vector<std::string> lines = shell_lines(input);
  // Hosts that nobody knows are in any order as good as sorted.
  const bool hosts = !numbers && !lines.empty() && are_host_names(lines, unknowns);
  if (ShellUnknowns::in(input) && !hosts) return std::nullopt;
  if (hosts) {
    if (words[0].text == "sort") std::sort(lines.begin(), lines.end());
  } else if (words[0].text == "sort") {
    std::vector<std::pair<int64_t, std::string>> keyed;
    for (std::string& line : lines) {
      const auto number = numbers ? base::parse_integer(line) : base::Result<int64_t>(0);
      // The order of letters and signs is the locale's.
      const bool plain = std::all_of(line.begin(), line.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
      });
      if (!number || (!numbers && !plain)) return std::nullopt;
      keyed.emplace_back(*number, std::move(line));
    }
    std::sort(keyed.begin(), keyed.end());
    if (reversed) std::reverse(keyed.begin(), keyed.end());
    for (size_t i = 0; i < lines.size(); ++i) lines[i] = std::move(keyed[i].second);
  }
  if (unique) lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return UtilityResult{join_shell_lines(lines), 0};
}

/// paste -s: all lines in one.
LinesOutput pasted(const std::vector<ShellText>& words, const std::string& input) {
  bool serial = false;
  std::string delimiter = "\t";
  for (size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i].text;
    if (word == "-") continue;
    if (word.starts_with("-s")) {
      serial = true;
      word.erase(1, 1);
      if (word == "-") continue;
    }
    if (!word.starts_with("-d")) return std::nullopt;
    delimiter = word.size() > 2 ? word.substr(2) : i + 1 < words.size() ? words[++i].text : "";
  }
  if (!serial || delimiter.size() != 1) return std::nullopt;
  std::string text;
  for (const std::string& line : shell_lines(input)) text += (text.empty() ? "" : delimiter) + line;
  return UtilityResult{text + "\n", 0};
}

}  // namespace

std::optional<UtilityResult> shell_lines_of(const std::vector<ShellText>& words,
                                            const std::string& input,
                                            const ShellUnknowns& unknowns) {
  const std::string& name = words.front().text;
  return name == "cut"     ? cut(words, input)
         : name == "paste" ? pasted(words, input)
                           : sorted(words, input, unknowns);
}

}  // namespace ergometer::intake
