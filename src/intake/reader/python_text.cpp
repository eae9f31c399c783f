#include "intake/reader/python_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::intake {
namespace {

PythonArgument argument_of(const std::string& text, size_t begin, size_t end) {
  const size_t first = std::min(text.find_first_not_of(" \t\r\n", begin), end);
  const std::string piece = trimmed(std::string_view(text).substr(begin, end - begin));
  PythonArgument argument{"", piece, line_at(text, first)};
  size_t at = 0;
  while (at < piece.size() && is_word(piece[at])) ++at;
  const size_t equals = std::min(piece.find_first_not_of(" \t", at), piece.size());
  const bool named = at > 0 && equals < piece.size() && piece[equals] == '=' &&
                     (equals + 1 == piece.size() || piece[equals + 1] != '=');
  if (named) {
    argument.name = piece.substr(0, at);
    argument.value = trimmed(std::string_view(piece).substr(equals + 1));
  }
  return argument;
}

/// A string, number, True, False or None as a YAML value; nothing for anything else.
std::optional<std::string> scalar(const std::string& text) {
  if (text == "True" || text == "False") return base::lower(text);
  if (text == "None") return "None";
  std::string digits = text;
  std::erase(digits, '_');
  if (base::parse_number(digits)) return digits;
  const bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'');
  if (quoted && behind_string(text, 0) == text.size() && text.back() == text[0])
    return unescaped(std::string_view(text).substr(1, text.size() - 2));
  return std::nullopt;
}

/// Whether the statement runs only on a condition that is not known here.
bool is_branch(std::string_view statement) {
  constexpr std::array<std::string_view, 7> kHeads = {"if ",   "if(",   "elif ", "elif(",
                                                      "else:", "else ", "except"};
  const bool heads = std::ranges::any_of(
      kHeads, [&](std::string_view head) { return statement.starts_with(head); });
  const bool is_case = statement.starts_with("case ") && statement.find(':') != statement.npos;
  return (heads || is_case) && statement.find("__name__") == statement.npos;
}

}  // namespace

size_t behind_string(const std::string& text, size_t at) {
  const char quote = text[at];
  const std::string triple(3, quote);
  if (text.compare(at, 3, triple) == 0) {
    const size_t end = text.find(triple, at + 3);
    return end == text.npos ? text.size() : end + 3;
  }
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote || text[i] == '\n')
      return i + 1;
  }
  return text.size();
}

int line_at(const std::string& text, size_t at) {
  return static_cast<int>(base::line_at(text, at));
}

std::string without_comments(std::string text) {
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') text[i++] = ' ';
    } else if (text[i] == '"' || text[i] == '\'') {
      const size_t end = behind_string(text, i);
      const bool long_one = text.compare(i, 3, std::string(3, text[i])) == 0;
      for (; i < end; ++i)
        if (long_one && text[i] != '\n') text[i] = ' ';
    } else {
      ++i;
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const bool itself = next == '"' || next == '\'' || next == '\\';
    if (next != '\n' && next != 'n' && next != 't' && !itself) {
      plain += text[i];
      continue;
    }
    ++i;
    if (next != '\n') plain += next == 'n' ? '\n' : next == 't' ? '\t' : next;
  }
  return plain;
}

std::string trimmed(std::string_view text) { return std::string(base::trimmed(text)); }

bool is_word(char c) { return base::is_letter_or_digit(c) || c == '_'; }

bool is_dotted_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.'; });
}

std::string called_name(const std::string& expression) {
  const size_t open = expression.find('(');
  if (open == expression.npos || behind_bracket(expression, open) != expression.size()) return "";
  const std::string name = trimmed(std::string_view(expression).substr(0, open));
  return is_dotted_name(name) ? name : "";
}

std::vector<PythonArgument> arguments_of_call(const std::string& text, size_t open) {
  std::vector<PythonArgument> arguments;
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = open; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = behind_string(text, i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool ends = depth == 0, parts = depth == 1 && c == ',';
    if (ends || parts) {
      PythonArgument argument = argument_of(text, begin, i);
      if (!argument.value.empty()) arguments.push_back(std::move(argument));
      begin = i + 1;
    }
    if (ends || arguments.size() > kMostPythonArguments) break;
    ++i;
  }
  return arguments;
}

std::optional<std::string> literal(const std::string& text) {
  const bool list = text.size() >= 2 && ((text[0] == '[' && text.back() == ']') ||
                                         (text[0] == '(' && text.back() == ')'));
  if (!list) return scalar(text);
  std::string joined;
  const std::vector<PythonArgument> items = arguments_of_call(text, 0);
  if (items.size() > kMostPythonArguments) return std::nullopt;
  for (const PythonArgument& item : items) {
    const auto value = item.name.empty() ? scalar(item.value) : std::nullopt;
    if (!value) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *value;
  }
  return joined;
}

size_t behind_bracket(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size();) {
    if (text[i] == '"' || text[i] == '\'') {
      i = behind_string(text, i);
      continue;
    }
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) return i + 1;
    ++i;
  }
  return text.size();
}

std::optional<PythonArgument> argument_of(const std::vector<PythonArgument>& arguments,
                                          std::string_view name, size_t place) {
  size_t positional = 0;
  for (const PythonArgument& it : arguments) {
    const bool is_positional = it.name.empty() && !it.value.starts_with('*');
    if (it.name == name || (is_positional && positional++ == place)) return it;
  }
  return std::nullopt;
}

std::optional<std::vector<PythonArgument>> dictionary_items(const std::string& text) {
  const bool called = text.starts_with("dict("), braces = text.starts_with('{');
  const size_t open = called ? 4 : 0;
  if ((!called && !braces) || behind_bracket(text, open) != text.size()) return std::nullopt;
  std::vector<PythonArgument> items = arguments_of_call(text, open);
  for (PythonArgument& item : items) {
    if (called && item.name.empty()) return std::nullopt;
    if (called) continue;
    const std::string pair = item.value;
    if (pair[0] != '"' && pair[0] != '\'') return std::nullopt;
    const size_t end = behind_string(pair, 0), colon = pair.find(':', end);
    if (colon == pair.npos || end < 2) return std::nullopt;
    item.name = pair.substr(1, end - 2);
    item.value = trimmed(std::string_view(pair).substr(colon + 1));
    if (item.value.empty()) return std::nullopt;
  }
  return items;
}

std::vector<size_t> words_of(const std::string& text, std::string_view name) {
  std::vector<size_t> found;
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end])))
      found.push_back(at);
  }
  return found;
}

std::vector<std::pair<size_t, size_t>> calls_of(const std::string& text, std::string_view name) {
  std::vector<std::pair<size_t, size_t>> calls;
  for (const size_t at : words_of(text, name)) {
    const size_t open = text.find_first_not_of(" \t", at + name.size());
    if (open != text.npos && text[open] == '(') calls.emplace_back(at, open);
  }
  return calls;
}

PythonStatements::PythonStatements(const std::string& text) : text_(text), nested_(text.size()) {
  int depth = 0;
  starts_.push_back(0);
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t end = c == '"' || c == '\'' ? behind_string(text, i) : i + 1;
    if (c == ')' || c == ']' || c == '}') depth = std::max(0, depth - 1);
    for (size_t k = i; k < end; ++k) nested_[k] = depth > 0;
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool continues = i > 0 && text[i - 1] == '\\';
    if (c == '\n' && depth == 0 && !continues) starts_.push_back(i + 1);
    i = end;
  }
}

size_t PythonStatements::start(size_t at) const {
  return *std::prev(std::ranges::upper_bound(starts_, at));
}

std::string_view PythonStatements::statement(size_t at) const {
  const auto next = std::ranges::upper_bound(starts_, at);
  const size_t begin = *std::prev(next), end = next == starts_.end() ? text_.size() : *next;
  const std::string_view whole = std::string_view(text_).substr(begin, end - begin);
  return whole.substr(std::min(whole.find_first_not_of(" \t"), whole.size()));
}

size_t PythonStatements::indent(size_t start) const {
  const size_t first = text_.find_first_not_of(" \t", start);
  return (first == text_.npos ? text_.size() : first) - start;
}

int PythonStatements::enclosing_branch(size_t at) const {
  if (is_branch(statement(at))) return line_at(text_, start(at));
  for (const size_t head : around(at))
    if (is_branch(statement(head))) return line_at(text_, head);
  return 0;
}

std::vector<size_t> PythonStatements::around(size_t at) const {
  std::vector<size_t> heads;
  size_t depth = indent(start(at));
  for (auto it = std::prev(std::ranges::upper_bound(starts_, at));
       it != starts_.begin() && depth > 0;) {
    const size_t begin = *--it;
    if (trimmed(statement(begin)).empty() || indent(begin) >= depth) continue;
    depth = indent(begin);
    heads.push_back(begin);
  }
  return heads;
}

size_t PythonStatements::behind(size_t start) const {
  const auto next = std::ranges::upper_bound(starts_, start);
  return next == starts_.end() ? text_.size() : *next;
}

size_t PythonStatements::previous(size_t start) const {
  for (auto it = std::ranges::lower_bound(starts_, start); it != starts_.begin();) {
    const size_t begin = *--it;
    if (trimmed(statement(begin)).empty() || indent(begin) > indent(start)) continue;
    return indent(begin) == indent(start) ? begin : text_.npos;
  }
  return text_.npos;
}

std::vector<size_t> PythonStatements::children(size_t start) const {
  std::vector<size_t> found;
  const size_t end = end_of_block(start);
  size_t depth = text_.npos;
  for (auto it = std::ranges::upper_bound(starts_, start); it != starts_.end() && *it < end; ++it) {
    if (trimmed(statement(*it)).empty()) continue;
    depth = std::min(depth, indent(*it));
    if (indent(*it) == depth) found.push_back(*it);
  }
  return found;
}

size_t PythonStatements::end_of_block(size_t start) const {
  for (auto it = std::ranges::upper_bound(starts_, start); it != starts_.end(); ++it)
    if (!trimmed(statement(*it)).empty() && indent(*it) <= indent(start)) return *it;
  return text_.size();
}

int PythonStatements::branch(size_t at, size_t end) const {
  const int line = conditional(at, end);
  return line == 0 ? enclosing_branch(at) : line;
}

int PythonStatements::conditional(size_t at, size_t end) const {
  const size_t begin = start(at);
  const std::string before = trimmed(std::string_view(text_).substr(begin, at - begin));
  const size_t next = behind(begin);
  const std::string after =
      trimmed(std::string_view(text_).substr(std::min(end, next), next - std::min(end, next)));
  const auto ends = [&](std::string_view word) {
    return before.ends_with(word) &&
           (before.size() == word.size() || !is_word(before[before.size() - word.size() - 1]));
  };
  const bool chosen = after.starts_with("if ") || after.starts_with("if(");
  if (chosen || ends("else") || ends("and") || ends("or")) return line_at(text_, at);
  return 0;
}

std::string PythonStatements::assigned(size_t at) const {
  const std::string_view whole = std::string_view(text_).substr(start(at), at - start(at));
  const std::string before = trimmed(whole);
  if (!before.ends_with('=') || nested(at)) return "";
  const std::string target = trimmed(std::string_view(before).substr(0, before.size() - 1));
  const std::string name = target.substr(0, target.find_first_of(": \t"));
  return std::ranges::all_of(name, is_word) ? name : "";
}

}  // namespace ergometer::intake
