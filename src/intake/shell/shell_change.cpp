#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "intake/shell/shell_expand.h"

// What an operator behind a name makes of its value (${NAME%.sh}, ${NAME/a/b}, ${NAME:2:3}), and
// the words that braces stand for.

namespace ergometer::intake {

ShellExpander::Value ShellExpander::changed(Value value, std::string_view operation, int line) {
  if (value.list && operation.front() == ':') {
    // ${ARGS[@]:1:2}
    const size_t second = operation.find(':', 1);
    auto begin = base::parse_integer(arithmetic(operation.substr(1, second - 1)));
    // From the end.
    if (begin && *begin < 0) *begin += value.first + std::ssize(value.items);
    const auto count = second == operation.npos
                           ? Result<int64_t>(1'000'000)
                           : base::parse_integer(arithmetic(operation.substr(second + 1)));
    std::vector<ShellText> kept;
    for (size_t i = 0; begin && count && i < value.items.size(); ++i) {
      // Of the positional arguments, $1 is the first.
      const auto at = static_cast<int64_t>(i) + value.first;
      if (at >= *begin && at < *begin + *count) kept.push_back(value.items[i]);
    }
    value.items = std::move(kept);
    return value;
  }
  if (!value.set) return value;
  if (value.items.empty()) value.items.push_back({"", line});
  for (ShellText& item : value.items) item.text = changed_text(item.text, operation, line);
  return value;
}

std::string ShellExpander::changed_text(const std::string& text, std::string_view operation,
                                        int line) {
  if (operation == "@Q") return quoted_word(text);
  if (operation == "@U" || operation == "@L")
    return changed_text(text, operation == "@U" ? "^^" : ",,", line);
  const char op = operation.front();
  if (op == '^' || op == ',') {
    std::string made = text;
    const size_t end = operation.size() > 1 && operation[1] == op ? made.size() : size_t{1};
    for (size_t i = 0; i < std::min(end, made.size()); ++i)
      made[i] = static_cast<char>(op == '^' ? std::toupper(static_cast<unsigned char>(made[i]))
                                            : std::tolower(static_cast<unsigned char>(made[i])));
    return made;
  }
  if (op == '@') return text;
  if (ShellUnknowns::in(text)) return ShellUnknowns::first(text);
  const auto unknown = [&] {
    return session_.unknowns.mark(
        fmt::format("${{...{}}} of {}", operation.substr(0, 30), session_.where(line)));
  };
  if (op == ':') {
    const size_t second = operation.find(':', 1);
    const auto begin = base::parse_integer(arithmetic(operation.substr(1, second - 1)));
    const auto size = static_cast<int64_t>(text.size());
    const auto count = second == operation.npos
                           ? Result<int64_t>(size)
                           : base::parse_integer(arithmetic(operation.substr(second + 1)));
    if (!begin || !count) return unknown();
    const int64_t from = std::clamp(*begin < 0 ? size + *begin : *begin, int64_t{0}, size);
    const int64_t to =
        std::clamp(*count < 0 ? size + *count : from + std::min(*count, size), from, size);
    return text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
  }
  const bool twice = operation.size() > 1 && operation[1] == op;
  const std::string_view word = operation.substr(twice ? 2 : 1);
  constexpr size_t kLongestSearched = 4'000;  // a pattern is tried at every place
  if (text.size() > kLongestSearched) return unknown();
  if (op == '#' || op == '%') {
    const std::string sought = word_pattern(word, line);
    for (size_t i = 0; i <= text.size(); ++i) {
      const size_t cut = twice ? text.size() - i : i;  // longest first, or shortest
      const auto matches =
          matches_pattern(op == '#' ? std::string_view(text).substr(0, cut)
                                    : std::string_view(text).substr(text.size() - cut),
                          sought);
      if (!matches) return unknown();
      if (*matches) return op == '#' ? text.substr(cut) : text.substr(0, text.size() - cut);
    }
    return text;
  }
  if (op == '/') {
    size_t slash = 0;
    while (slash < word.size() && word[slash] != '/') slash = skip_shell_piece(word, slash);
    slash = std::min(slash, word.size());
    std::string sought = word_pattern(word.substr(0, slash), line);
    const std::string with =
        slash < word.size() ? word_text(word.substr(slash + 1), line) : std::string();
    if (sought.empty()) return text;
    const bool at_start = !twice && sought.starts_with('#'),
               at_end = !twice && sought.starts_with('%');
    if (at_start || at_end) sought.erase(0, 1);
    if (sought.empty()) return at_start ? with + text : text + with;
    std::string made;
    size_t at = 0;
    for (bool more = true; at < text.size();) {
      size_t found = 0;
      for (size_t length = text.size() - at; more && length > 0 && found == 0; --length) {
        const auto matches = matches_pattern(std::string_view(text).substr(at, length), sought);
        if (!matches) return unknown();
        if (*matches && (!at_end || at + length == text.size())) found = length;
        if (++session_.steps > 2'000'000) return unknown();
      }
      if (found > 0) {
        made += with;
        at += found;
        more = twice;
      } else {
        made += text[at++];
      }
      if (at_start) more = false;
    }
    return made;
  }
  session_.fail(fmt::format("${{...{}}} is not understood", operation.substr(0, 40)));
  return "";
}

namespace {

/// {1..9}, {1..9..2}, {08..12}, {a..c}; nothing for anything else.
std::vector<std::string> brace_sequence(const std::string& from, const std::string& behind) {
  const size_t dots = behind.find("..");
  const std::string to = behind.substr(0, dots);
  const auto step = base::parse_integer(dots == behind.npos ? "1" : behind.substr(dots + 2));
  const auto is_letter = [](const std::string& text) {
    return text.size() == 1 && base::is_letter(text[0]);
  };
  const bool letters = is_letter(from) && is_letter(to);
  const auto number = [&](const std::string& text) {
    return letters ? Result<int64_t>(static_cast<int64_t>(text[0])) : base::parse_integer(text);
  };
  const auto first = number(from), last = number(to);
  constexpr int64_t kLargest = 1'000'000, kMost = 9'999;
  if (!first || !last || !step || std::abs(*first) > kLargest || std::abs(*last) > kLargest ||
      std::abs(*step) > kLargest)
    return {};
  const int64_t by = std::max<int64_t>(1, std::abs(*step));
  if (std::abs(*last - *first) / by > kMost) return {};
  // Zeros in front of either end give all numbers its width.
  const auto has_zero = [](const std::string& text) { return text.size() > 1 && text[0] == '0'; };
  const size_t width = has_zero(from) || has_zero(to) ? std::max(from.size(), to.size()) : 0;
  std::vector<std::string> made;
  for (int64_t i = *first; *first <= *last ? i <= *last : i >= *last;
       i += *first <= *last ? by : -by)
    made.push_back(letters ? std::string(1, static_cast<char>(i))
                           : fmt::format("{:0{}}", i, width));
  return made;
}

}  // namespace

std::vector<std::string> expand_shell_braces(const std::string& raw) {
  constexpr size_t kMostWordsOfBraces = 1'000, kLongestWithBraces = 2'000;
  if (raw.size() > kLongestWithBraces) return {raw};
  // The first unquoted { that is not a parameter's, its commas and its end.
  size_t open = 0;
  while (open < raw.size() && raw[open] != '{') open = skip_shell_piece(raw, open);
  if (open >= raw.size()) return {raw};
  std::vector<size_t> commas;
  int depth = 0;
  size_t close = open;
  for (; close < raw.size(); close = skip_shell_piece(raw, close)) {
    if (raw[close] == '{') ++depth;
    if (raw[close] == '}' && --depth == 0) break;
    if (raw[close] == ',' && depth == 1) commas.push_back(close);
  }
  if (close >= raw.size()) return {raw};
  const std::string before = raw.substr(0, open), after = raw.substr(close + 1);
  const std::string inner = raw.substr(open + 1, close - open - 1);
  std::vector<std::string> choices;
  if (!commas.empty()) {
    size_t begin = open + 1;
    commas.push_back(close);
    for (const size_t comma : commas) {
      choices.push_back(raw.substr(begin, comma - begin));
      begin = comma + 1;
    }
  } else if (const size_t dots = inner.find(".."); dots != inner.npos) {
    choices = brace_sequence(inner.substr(0, dots), inner.substr(dots + 2));
    if (choices.empty()) return {raw};
  } else {
    return {raw};
  }
  std::vector<std::string> all;
  for (const std::string& choice : choices) {
    if (all.size() > kMostWordsOfBraces) break;
    for (std::string& word : expand_shell_braces(before + choice + after))
      all.push_back(std::move(word));
  }
  return all;
}

}  // namespace ergometer::intake
