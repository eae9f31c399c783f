#include <algorithm>

#include "base/text.h"
#include "intake/programs/shell_utilities.h"
#include "intake/reader/flat_reader.h"

// jq and yq of known text.

namespace ergometer::intake {
namespace {

using Queried = std::optional<std::string>;

std::string without_blanks_around(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

/// `.a["b"].c[0]` as "a.b.c.0"; nothing for a filter that is more than a path.
Queried path_of(std::string filter) {
  // Where nothing is quoted a dash subtracts.
  const bool quoted = base::contains(filter, "\"");
  for (const auto& [from, to] :
       {std::pair(".[\"", "."), {"[\"", "."}, {"\"]", ""}, {"[", "."}, {"]", ""}})
    for (size_t at = filter.find(from); at != filter.npos; at = filter.find(from))
      filter.replace(at, std::string_view(from).size(), to);
  std::erase(filter, '"');
  const bool plain = std::ranges::all_of(
      filter, [&](char c) { return is_shell_name_char(c) || c == '.' || (quoted && c == '-'); });
  if (!plain || filter.size() < 2 || filter[0] != '.' || base::contains(filter, "..") ||
      filter.back() == '.')
    return std::nullopt;
  return filter.substr(1);
}

/// Values that every such program prints as they stand: whole numbers, yes and no, plain words.
bool prints_as_it_stands(const std::string& text, bool raw) {
  const bool number = base::parse_integer(text).has_value();
  if (number || text == "true" || text == "false") return true;
  const bool word = std::ranges::all_of(text, [](char c) {
    return is_shell_name_char(c) || c == '.' || c == '-' || c == '/' || c == ':';
  });
  return raw && word && !text.empty() && !base::parse_number(text).has_value();
}

class Query {
 public:
  Query(const spec::FlatYaml& values, bool raw) : values_(values), raw_(raw) {}

  /// Of "[.a, .b] | @tsv" one line, of ".a, .b" a line each.
  Queried lines(const std::string& filter) const {
    const size_t bar = filter.rfind('|');
    if (bar == filter.npos) return joined(filter, "\n");
    const std::string list = without_blanks_around(filter.substr(0, bar)),
                      form = without_blanks_around(filter.substr(bar + 1));
    const bool tabs = form == "@tsv", blanks = form == "join(\" \")";
    if (!list.starts_with('[') || !list.ends_with(']') || (!tabs && !blanks)) return std::nullopt;
    return joined(list.substr(1, list.size() - 2), tabs ? "\t" : " ");
  }

 private:
  Queried joined(const std::string& filters, std::string_view between) const {
    std::string text;
    for (const std::string& filter : base::split(filters, ',')) {
      const Queried one = value(filter);
      if (!one) return std::nullopt;
      text += (text.empty() ? "" : std::string(between)) + *one;
    }
    return text + "\n";
  }

  /// `.a.b`, or `.a.b // 4` where it may be missing.
  Queried value(const std::string& filter) const {
    const size_t slashes = filter.find("//");
    const Queried path = path_of(without_blanks_around(filter.substr(0, slashes)));
    if (!path) return std::nullopt;
    const auto it = values_.find(*path);
    const bool is_false = it != values_.end() && it->second.text == "false";
    if (it != values_.end() && !(is_false && slashes != filter.npos))
      return prints_as_it_stands(it->second.text, raw_) ? Queried(it->second.text) : std::nullopt;
    if (it == values_.end() && holds_more(*path)) return std::nullopt;
    if (slashes == filter.npos) return "null";
    std::string other = without_blanks_around(filter.substr(slashes + 2));
    if (other.size() > 1 && other.front() == '"' && other.back() == '"')
      other = other.substr(1, other.size() - 2);
    return prints_as_it_stands(other, raw_) && other != "empty" ? Queried(other) : std::nullopt;
  }

  /// Whether the path is a section, or leads into a list that was read as one value.
  bool holds_more(const std::string& path) const {
    const auto section = values_.lower_bound(path + ".");
    if (section != values_.end() && section->first.starts_with(path + ".")) return true;
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
      if (values_.contains(path.substr(0, dot))) return true;
    return false;
  }

  const spec::FlatYaml& values_;
  bool raw_;
};

}  // namespace

std::optional<UtilityResult> shell_query(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file) {
  std::vector<std::string> plain;
  // The yq that most have prints words without quotes anyway; the other one does not.
  bool raw = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "-r" || word == "--raw-output")
      raw = true;
    else if (word.starts_with('-') && word != "-")
      return std::nullopt;
    else if (i > 1 || (word != "e" && word != "eval"))
      plain.push_back(word);
  }
  if (plain.empty() || plain.size() > 2 || ShellUnknowns::in(plain.front())) return std::nullopt;
  const bool file = plain.size() == 2 && plain[1] != "-";
  const std::string text = file ? text_of_file(plain[1]) : input;
  // References are another reader's.
  if (ShellUnknowns::in(text) || base::contains(text, "${")) return std::nullopt;
  const auto values = flatten_json(text, "");
  if (!values) return std::nullopt;
  auto lines = Query(*values, raw).lines(plain.front());
  if (!lines) return std::nullopt;
  return UtilityResult{*std::move(lines), 0};
}

}  // namespace ergometer::intake
