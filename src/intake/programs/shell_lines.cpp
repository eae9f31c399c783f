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
  constexpr size_t kMostParts = 100;
  std::vector<bool> chosen(count, false);
  const std::vector<std::string> parts = base::split(list, ',');
  if (parts.size() > kMostParts) return std::nullopt;
  for (const std::string& part : parts) {
    const size_t dash = part.find('-');
    const std::string low = part.substr(0, dash),
                      high = dash == part.npos ? low : part.substr(dash + 1);
    const auto begin = low.empty() ? Result<int64_t>(1) : base::parse_integer(low);
    const auto end = high.empty() && dash != part.npos
                         ? Result<int64_t>(static_cast<int64_t>(count))
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
    if (words[0].text == "sort") std::ranges::sort(lines);
  } else if (words[0].text == "sort") {
    std::vector<std::pair<int64_t, std::string>> keyed;
    for (std::string& line : lines) {
      const auto number = numbers ? base::parse_integer(line) : Result<int64_t>(0);
      // The order of letters and signs is the locale's.
      const bool plain = std::ranges::all_of(
          line, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
      if (!number || (!numbers && !plain)) return std::nullopt;
      keyed.emplace_back(*number, std::move(line));
    }
    std::ranges::sort(keyed);
    if (reversed) std::ranges::reverse(keyed);
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

struct Around {
  std::string before, behind;
};

/// s/$/ slots=8/ and s/^/host-/.
std::optional<Around> around_by_sed(const std::string& script) {
  if (script.size() < 5 || script[0] != 's') return std::nullopt;
  const std::vector<std::string> parts = base::split(script.substr(2), script[1]);
  const bool plain =
      parts.size() == 3 && parts[2].empty() && parts[1].find_first_of("\\&") == std::string::npos;
  if (!plain || (parts[0] != "$" && parts[0] != "^")) return std::nullopt;
  return parts[0] == "$" ? Around{"", parts[1]} : Around{parts[1], ""};
}

/// {print $1" slots=8"}, {print $1, "slots=8"} and {print "host-"$1}: words of a line of one word.
std::optional<Around> around_by_awk(std::string script) {
  while (!script.empty() && (script.back() == ' ' || script.back() == ';')) script.pop_back();
  const size_t begin = script.find_first_not_of("{ ");
  if (!script.ends_with('}') || begin == script.npos || script.compare(begin, 6, "print ") != 0)
    return std::nullopt;
  Around around;
  bool after = false;
  for (size_t at = begin + 6; at + 1 < script.size(); ++at) {
    if (script[at] == ' ' || script[at] == ';') continue;
    std::string& side = after ? around.behind : around.before;
    if (script[at] == '$' && !after && (script[at + 1] == '0' || script[at + 1] == '1')) {
      after = true;
      ++at;
    } else if (const size_t end = script.find('"', at + 1);
               script[at] == '"' && end != script.npos) {
      side += script.substr(at + 1, end - at - 1);
      at = end;
    } else if (script[at] == ',') {
      side += ' ';
    } else {
      return std::nullopt;
    }
  }
  const bool plain = !base::contains(around.before + around.behind, "\\");
  return after && plain ? std::optional(around) : std::nullopt;
}

}  // namespace

LinesOutput shell_around_lines(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file,
    const ShellUnknowns& unknowns) {
  const bool sed = words[0].text == "sed";
  const size_t at = sed && words.size() > 1 && words[1].text == "-e" ? 2 : 1;
  if (at >= words.size() || words.size() > at + 2 || ShellUnknowns::in(words[at].text))
    return std::nullopt;
  const auto around = sed ? around_by_sed(words[at].text) : around_by_awk(words[at].text);
  if (!around) return std::nullopt;
  std::vector<std::string> lines =
      shell_lines(words.size() > at + 1 ? text_of_file(words[at + 1].text) : input);
  const auto one_word = [](const std::string& line) {
    return !line.empty() && !ShellUnknowns::in(line) && line.find_first_of(" \t") == line.npos;
  };
  if (!are_host_names(lines, unknowns) && !std::ranges::all_of(lines, one_word))
    return std::nullopt;
  for (std::string& line : lines) line = around->before + line + around->behind;
  return UtilityResult{join_shell_lines(lines), 0};
}

std::optional<UtilityResult> shell_lines_of(const std::vector<ShellText>& words,
                                            const std::string& input,
                                            const ShellUnknowns& unknowns) {
  const std::string& name = words.front().text;
  return name == "cut"     ? cut(words, input)
         : name == "paste" ? pasted(words, input)
                           : sorted(words, input, unknowns);
}

}  // namespace ergometer::intake
