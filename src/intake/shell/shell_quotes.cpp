#include <algorithm>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "intake/shell/shell_syntax.h"

// Where quotes, substitutions and brackets of a script end, and what needs quotes.

namespace ergometer::intake {
namespace {

constexpr size_t kDeepestBracket = 100;

size_t skip_double_quotes(std::string_view text, size_t at);

size_t skip_single_quotes(std::string_view text, size_t at) {
  const size_t end = text.find('\'', at + 1);
  return end == text.npos ? end : end + 1;
}

/// $'...': a backslash hides the quote.
size_t skip_escaped_quotes(std::string_view text, size_t at) {
  for (size_t i = at + 2; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '\'')
      return i + 1;
  }
  return text.npos;
}

size_t skip_backticks(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '`')
      return i + 1;
  }
  return text.npos;
}

size_t skip_dollar(std::string_view text, size_t at) {
  if (at + 1 >= text.size()) return at + 1;
  const char next = text[at + 1];
  if (next == '(') return skip_brackets(text, at + 1, '(', ')');
  if (next == '{') return skip_brackets(text, at + 1, '{', '}');
  if (next == '\'') return skip_escaped_quotes(text, at);
  size_t end = at + 1;
  const bool digit = base::is_digit(next);
  if (digit || std::string_view("@*#?$!-").find(next) != std::string_view::npos) return at + 2;
  while (end < text.size() && is_shell_name_char(text[end])) ++end;
  return end;
}

size_t skip_double_quotes(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size();) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\')
      i += 2;
    else if (text[i] == '$' || text[i] == '`')
      i = text[i] == '`'                               ? skip_backticks(text, i)
          : i + 1 < text.size() && text[i + 1] == '\'' ? i + 1
                                                       : skip_dollar(text, i);
    else
      ++i;
  }
  return text.npos;
}

}  // namespace

std::string quoted_word(std::string_view text) {
  const auto is_plain = [](char c) {
    // A mark of something unknown is a part of a word as it is.
    return is_shell_name_char(c) ||
           std::string_view("%+,-./:=@^\x01\x02").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  return base::in_single_quotes(text);
}

size_t skip_brackets(std::string_view text, size_t at, char open, char close) {
  std::vector<char> closing = {close};
  for (size_t i = at + 1; i < text.size();) {
    const char c = text[i];
    if (c == '#' && open == '(' && std::string_view(" \n(").find(text[i - 1]) != text.npos) {
      i = std::min(text.find('\n', i), text.size());  // a comment may hold anything
      continue;
    }
    if (c == closing.back()) {
      closing.pop_back();
      ++i;
      if (closing.empty()) return i;
    } else if (c == open) {
      closing.push_back(close);
      ++i;
    } else {
      i = skip_shell_piece(text, i);
    }
    if (closing.size() > kDeepestBracket) return text.npos;
  }
  return text.npos;
}

size_t skip_shell_piece(std::string_view text, size_t at) {
  switch (text[at]) {
    case '\\': return std::min(at + 2, text.size());
    case '\'': return skip_single_quotes(text, at);
    case '"': return skip_double_quotes(text, at);
    case '`': return skip_backticks(text, at);
    case '$': return skip_dollar(text, at);
    default: return at + 1;
  }
}

}  // namespace ergometer::intake
