#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "intake/shell/shell_expand.h"

// What an operator behind a name makes of its value (${NAME%.sh}, ${NAME/a/b}, ${NAME:2:3}), and
// the words that braces stand for.

namespace ergometer::intake {

namespace {

constexpr size_t kLongestSearched = 4'000;  ///< a pattern is tried at every place

/// ${NAME^^} and ${NAME,,}; with one sign, of the first character alone.
std::string with_case(std::string text, std::string_view operation) {
  const char op = operation.front();
  const size_t end = operation.size() > 1 && operation[1] == op ? text.size() : size_t{1};
  for (size_t i = 0; i < std::min(end, text.size()); ++i)
    text[i] = static_cast<char>(op == '^' ? std::toupper(static_cast<unsigned char>(text[i]))
                                          : std::tolower(static_cast<unsigned char>(text[i])));
  return text;
}

}  // namespace

ShellExpander::Slice ShellExpander::slice_of(std::string_view operation, int64_t all) {
  const size_t second = operation.find(':', 1);
  Slice slice{base::parse_integer(arithmetic(operation.substr(1, second - 1))), all};
  if (second != operation.npos)
    slice.count = base::parse_integer(arithmetic(operation.substr(second + 1)));
  return slice;
}

ShellExpander::Value ShellExpander::changed(Value value, std::string_view operation, int line) {
  if (value.list && operation.front() == ':') {
    auto [begin, count] = slice_of(operation, 1'000'000);
    // From the end.
    if (begin && *begin < 0) *begin += value.first + std::ssize(value.items);
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
    return with_case(text, operation == "@U" ? "^^" : ",,");
  const char op = operation.front();
  if (op == '^' || op == ',') return with_case(text, operation);
  if (op == '@') return text;
  if (ShellUnknowns::in(text)) return ShellUnknowns::first(text);
  std::optional<std::string> made;
  if (op == ':') {
    made = part_of(text, operation);
  } else if (text.size() <= kLongestSearched) {
    if (op == '#' || op == '%') {
      made = without_match(text, operation, line);
    } else if (op == '/') {
      made = with_replaced(text, operation, line);
    } else {
      session_.fail(fmt::format("${{...{}}} is not understood", operation.substr(0, 40)));
      return "";
    }
  }
  if (made) return *made;
  return session_.unknowns.mark(
      fmt::format("${{...{}}} of {}", operation.substr(0, 30), session_.where(line)));
}

std::optional<std::string> ShellExpander::part_of(const std::string& text,
                                                  std::string_view operation) {
  const auto size = static_cast<int64_t>(text.size());
  const auto [begin, count] = slice_of(operation, size);
  if (!begin || !count) return std::nullopt;
  const int64_t from = std::clamp(*begin < 0 ? size + *begin : *begin, int64_t{0}, size);
  const int64_t to =
      std::clamp(*count < 0 ? size + *count : from + std::min(*count, size), from, size);
  return text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
}

std::optional<std::string> ShellExpander::without_match(const std::string& text,
                                                        std::string_view operation, int line) {
  const bool at_start = operation.front() == '#';
  const bool longest = operation.size() > 1 && operation[1] == operation[0];
  const std::string sought = word_pattern(operation.substr(longest ? 2 : 1), line);
  const std::string_view all = text;
  for (size_t i = 0; i <= all.size(); ++i) {
    const size_t cut = longest ? all.size() - i : i;
    const size_t rest = all.size() - cut;
    const auto matches = matches_pattern(at_start ? all.substr(0, cut) : all.substr(rest), sought);
    if (!matches) return std::nullopt;
    if (*matches) return std::string(at_start ? all.substr(cut) : all.substr(0, rest));
  }
  return text;
}

std::optional<std::string> ShellExpander::with_replaced(const std::string& text,
                                                        std::string_view operation, int line) {
  const bool every = operation.size() > 1 && operation[1] == '/';
  const std::string_view word = operation.substr(every ? 2 : 1);
  size_t slash = 0;
  while (slash < word.size() && word[slash] != '/') slash = skip_shell_piece(word, slash);
  slash = std::min(slash, word.size());
  std::string sought = word_pattern(word.substr(0, slash), line);
  const std::string with =
      slash < word.size() ? word_text(word.substr(slash + 1), line) : std::string();
  if (sought.empty()) return text;
  const bool at_start = !every && sought.starts_with('#'),
             at_end = !every && sought.starts_with('%');
  if (at_start || at_end) sought.erase(0, 1);
  if (sought.empty()) return at_start ? with + text : text + with;
  std::string made;
  size_t at = 0;
  for (bool more = true; at < text.size();) {
    size_t found = 0;
    for (size_t length = text.size() - at; more && length > 0 && found == 0; --length) {
      const auto matches = matches_pattern(std::string_view(text).substr(at, length), sought);
      if (!matches) return std::nullopt;
      if (*matches && (!at_end || at + length == text.size())) found = length;
      if (++session_.steps > 2'000'000) return std::nullopt;
    }
    if (found > 0) {
      made += with;
      at += found;
      more = every;
    } else {
      made += text[at++];
    }
    if (at_start) more = false;
  }
  return made;
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
