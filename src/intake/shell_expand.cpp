#include "intake/shell_expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "intake/shell_arithmetic.h"

namespace ergometer::intake {
namespace {

constexpr int kDeepestWord = 40;
constexpr int64_t kMostExpanded = 8'000'000;  ///< characters that all expansions together may make
constexpr size_t kMostFields = 20'000;

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Variables that differ from machine to machine: their values are never known here.
bool is_of_machine(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "HOSTNAME", "PATH", "LD_LIBRARY_PATH", "SHELL",
       "RANDOM", "SECONDS", "TMPDIR", "UID", "EUID", "PPID", "$", "!", "EPOCHSECONDS"});
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string escaped_pattern(std::string_view text) {
  std::string hidden;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') hidden += '\\';
    hidden += c;
  }
  return hidden;
}

/// $'...' with the escapes that scripts use.
std::string ansi_text(std::string_view body) {
  std::string text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 >= body.size()) {
      text += body[i];
      continue;
    }
    const char c = body[++i];
    text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return text;
}

}  // namespace

/// Fields being put together.
class ShellExpander::Fields {
 public:
  Fields(int line, bool are_split, bool hide_patterns, std::string separators)
      : splits(are_split), hides(hide_patterns), separators_(std::move(separators)), line_(line) {}

  void add(std::string_view text, int line, bool quoted) {
    if (current_.empty() && line > 0 && !text.empty()) line_ = line;
    current_ += hides && quoted ? escaped_pattern(text) : std::string(text);
    has_ = has_ || quoted || !text.empty();
  }
  void add_split(std::string_view text, int line) {
    if (!splits) return add(text, line, false);
    for (size_t at = 0; at < text.size();) {
      if (separators_.find(text[at]) != separators_.npos) {
        end_field();
        ++at;
        continue;
      }
      const size_t end = std::min(text.find_first_of(separators_, at), text.size());
      add(text.substr(at, end - at), line, false);
      at = end;
    }
  }
  void end_field() {
    if (has_ && done_.size() < kMostFields) done_.push_back({std::move(current_), line_});
    current_.clear();
    has_ = false;
  }
  /// An empty pair of quotes is a field, one that held an empty list is none.
  void mark_quoted() { has_ = true; }
  std::vector<ShellText> take() {
    end_field();
    return std::move(done_);
  }
  std::string take_text() { return std::move(current_); }
  int line() const { return line_; }

  const bool splits;
  const bool hides;

 private:
  std::vector<ShellText> done_;
  std::string current_;
  std::string separators_;
  bool has_ = false;
  int line_;
};

std::string ShellExpander::Value::text() const {
  std::string joined;
  for (size_t i = 0; i < items.size(); ++i) joined += (i == 0 ? "" : " ") + items[i].text;
  return joined;
}

std::string ShellExpander::separators() const {
  const auto ifs = state_.variables.find("IFS");
  return ifs == state_.variables.end() || ifs->second.items.empty()
             ? " \t\n"
             : ifs->second.items.front().text;
}
std::string ShellExpander::first_separator() const { return separators().substr(0, 1); }

std::vector<ShellText> ShellExpander::fields(const std::vector<RawWord>& words) {
  const std::string between = separators();
  std::vector<ShellText> all;
  for (const RawWord& word : words) {
    for (const std::string& raw : expand_shell_braces(word.text)) {
      Fields out(word.line, true, false, between);
      expand(raw, word.line, Quoting::kNone, out);
      for (ShellText& field : out.take()) all.push_back(std::move(field));
      if (session_.failed() || all.size() > kMostFields) return all;
    }
  }
  return all;
}

ShellText ShellExpander::text(const RawWord& word) {
  Fields out(word.line, false, false, "");
  expand(word.text, word.line, Quoting::kNone, out);
  const int line = out.line();
  return {out.take_text(), line};
}

std::string ShellExpander::pattern(const RawWord& word) {
  Fields out(word.line, false, true, "");
  expand(word.text, word.line, Quoting::kNone, out);
  return out.take_text();
}

std::string ShellExpander::document(std::string_view body, int line) {
  Fields out(line, false, false, "");
  expand(body, line, Quoting::kDocument, out);
  return out.take_text();
}

std::string ShellExpander::word_text(std::string_view raw, int line) {
  return text({std::string(raw), line}).text;
}
std::string ShellExpander::word_pattern(std::string_view raw, int line) {
  return pattern({std::string(raw), line});
}

std::string ShellExpander::arithmetic(std::string_view expression) {
  const std::string expanded = document(expression, session_.line);
  if (session_.failed()) return "";
  const ArithmeticScope scope = {
      [&](std::string_view name) {
        const size_t bracket = name.find('[');
        const bool indexed = bracket != name.npos;
        const Value value =
            value_of(name.substr(0, bracket),
                     indexed ? name.substr(bracket + 1, name.size() - bracket - 2) : "", indexed);
        // Not set: bash counts it as 0, but whoever starts the script most likely sets it.
        if (!value.set && !session_.failed())
          return session_.unknowns.mark(
              fmt::format("{}, which is not set (give --env {}=VALUE)", name, name));
        return value.items.empty() ? std::string() : value.items.front().text;
      },
      [&](std::string_view name, std::string value) {
        assign(name, {std::move(value), session_.line});
      }};
  const auto value = shell_arithmetic(expanded, scope);
  if (!value) {
    session_.fail(value.error().message);
    return "";
  }
  return *value;
}

void ShellExpander::assign(std::string_view name, const ShellText& value, bool append) {
  const size_t bracket = name.find('[');
  ShellVariable& variable = state_.variables[std::string(name.substr(0, bracket))];
  const auto put_in = [&](ShellText& slot) {
    if (append)
      slot = {slot.text + value.text, slot.text.empty() ? value.line : slot.line};
    else
      slot = value;
  };
  if (variable.kind == ShellVariable::Kind::kMap) {
    const std::string index =
        bracket == name.npos
            ? "0"
            : word_text(name.substr(bracket + 1, name.size() - bracket - 2), value.line);
    put_in(variable.entries[index]);
    return;
  }
  size_t index = 0;
  if (bracket != name.npos) {
    const std::string number = arithmetic(name.substr(bracket + 1, name.size() - bracket - 2));
    const auto parsed = base::parse_integer(number);
    constexpr int64_t kLargestIndex = 100'000;
    if (!parsed || *parsed < 0 || *parsed > kLargestIndex)
      return session_.fail(fmt::format("{}: the index is not known", name));
    // The reference may have moved: the index is an expression that can assign.
    ShellVariable& again = state_.variables[std::string(name.substr(0, bracket))];
    again.kind = ShellVariable::Kind::kList;
    index = static_cast<size_t>(*parsed);
    if (again.items.size() <= index) again.items.resize(index + 1, {std::string(kUnsetItem), 0});
    if (again.items[index].text == kUnsetItem) again.items[index].text.clear();
    put_in(again.items[index]);
    return;
  }
  if (variable.items.empty()) variable.items.resize(1);
  put_in(variable.items.front());
  if (state_.exports_all) variable.exported = true;
}

void ShellExpander::put(const std::string& value, int line, Quoting quoting, Fields& out) {
  session_.expanded += static_cast<int64_t>(value.size());
  if (session_.expanded > kMostExpanded)
    return session_.fail("the script's texts grow beyond 8 million characters");
  if (quoting == Quoting::kNone)
    out.add_split(value, line);
  else
    out.add(value, line, true);
}

void ShellExpander::put_list(const std::vector<ShellText>& items, bool one_text, Quoting quoting,
                             Fields& out) {
  for (size_t i = 0; i < items.size() && !session_.failed(); ++i) {
    if (i > 0) {
      if (one_text && quoting == Quoting::kDouble)
        out.add(first_separator(), 0, true);  // "$*"
      else if (!out.splits)
        out.add(" ", 0, quoting != Quoting::kNone);
      else
        out.end_field();
    }
    put(items[i].text, items[i].line, quoting, out);
  }
}

void ShellExpander::expand(std::string_view raw, int line, Quoting quoting, Fields& out) {
  if (++depth_ > kDeepestWord) session_.fail("expansions nest deeper than 40");
  int current = line;
  for (size_t at = 0; at < raw.size() && !session_.failed();) {
    const char c = raw[at];
    if (c == '\n') ++current;
    if (c == '$') {
      at = expand_dollar(raw, at, current, quoting, out);
    } else if (c == '`') {
      const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
      std::string inner;
      for (size_t i = at + 1; i + 1 < end; ++i)
        if (raw[i] != '\\' || i + 2 >= end || (raw[i + 1] != '`' && raw[i + 1] != '$'))
          inner += raw[i];
      put(substitute_(inner, current), 0, quoting, out);
      at = end;
    } else if (c == '\\' && quoting == Quoting::kNone) {
      if (at + 1 < raw.size() && raw[at + 1] == '\n')
        ++current;
      else
        out.add(raw.substr(at + 1, 1), current, true);
      at += 2;
    } else if (c == '\\') {
      const char next = at + 1 < raw.size() ? raw[at + 1] : '\0';
      const bool hides = next == '$' || next == '`' || next == '\\' ||
                         (next == '"' && quoting == Quoting::kDouble);
      if (next == '\n')
        ++current;
      else
        out.add(hides ? raw.substr(at + 1, 1) : raw.substr(at, 2), current, true);
      at += 2;
    } else if (c == '\'' && quoting == Quoting::kNone) {
      const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
      out.add(raw.substr(at + 1, end - at - 2), current, true);
      at = end;
    } else if (c == '"' && quoting == Quoting::kNone) {
      const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
      const std::string_view inner = raw.substr(at + 1, end - at - 2);
      // "$@" of nothing is no field; any other pair of quotes is one.
      const bool list = inner == "$@" || (inner.starts_with("${") && inner.ends_with("[@]}"));
      if (!list) out.mark_quoted();
      expand(inner, current, Quoting::kDouble, out);
      current += static_cast<int>(std::count(inner.begin(), inner.end(), '\n'));
      at = end;
    } else if (c == '~' && quoting == Quoting::kNone && at == 0 &&
               (raw.size() == 1 || raw[1] == '/')) {
      expand_name("HOME", current, Quoting::kDouble, out);
      ++at;
    } else if ((c == '<' || c == '>') && quoting == Quoting::kNone &&
               raw.substr(at + 1, 1) == "(") {
      // <(command): a file that holds what it prints.
      const std::string path = fmt::format("/dev/fd/{}", 60 + state_.files.size());
      state_.files[path] = substitute_(raw.substr(at + 2, raw.size() - at - 3), current) + "\n";
      out.add(path, current, true);
      at = raw.size();
    } else {
      size_t end = at + 1;
      while (end < raw.size() &&
             std::string_view("$`\\'\"\n<>~").find(raw[end]) == std::string_view::npos)
        ++end;
      out.add(raw.substr(at, end - at), current, quoting != Quoting::kNone);
      at = end;
    }
  }
  --depth_;
}

size_t ShellExpander::expand_dollar(std::string_view raw, size_t at, int line, Quoting quoting,
                                    Fields& out) {
  const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
  const std::string_view piece = raw.substr(at, end - at);
  if (piece.starts_with("$((") && piece.ends_with("))")) {
    put(arithmetic(piece.substr(3, piece.size() - 5)), line, quoting, out);
  } else if (piece.starts_with("$(")) {
    put(substitute_(piece.substr(2, piece.size() - 3), line), 0, quoting, out);
  } else if (piece.starts_with("${")) {
    expand_braces(piece.substr(2, piece.size() - 3), line, quoting, out);
  } else if (piece.starts_with("$'") && quoting == Quoting::kNone) {
    out.add(ansi_text(piece.substr(2, piece.size() - 3)), line, true);
  } else if (piece.size() > 1 &&
             (is_word_char(piece[1]) ||
              std::string_view("@*#?$!-").find(piece[1]) != std::string_view::npos)) {
    expand_name(piece.substr(1), line, quoting, out);
  } else if (piece == "$\"") {
    return at + 1;
  } else {
    out.add(piece.substr(0, 1), line, quoting != Quoting::kNone);
    return at + 1;
  }
  return end;
}

void ShellExpander::expand_name(std::string_view name, int line, Quoting quoting, Fields& out) {
  const Value value = value_of(name, "", false);
  if (!value.set) return;
  if (value.list) return put_list(value.items, value.one_text, quoting, out);
  put(value.items.empty() ? "" : value.items.front().text,
      value.items.empty() ? line : value.items.front().line, quoting, out);
}

/// What stands between ${ and }.
void ShellExpander::expand_braces(std::string_view body, int line, Quoting quoting, Fields& out) {
  const bool counts = body.size() > 1 && body.front() == '#' && body != "#}";
  bool indirect = body.size() > 1 && body.front() == '!';
  std::string_view rest = counts || indirect ? body.substr(1) : body;
  size_t end = 0;
  if (!rest.empty() && !is_word_char(rest.front()))
    end = 1;
  else
    while (end < rest.size() && is_word_char(rest[end])) ++end;
  std::string name(rest.substr(0, end));
  rest.remove_prefix(end);
  std::string_view index;
  std::string indirect_index;
  bool has_index = false;
  if (rest.starts_with('[')) {
    const size_t close = rest.find(']');
    if (close == rest.npos)
      return session_.fail(fmt::format("${{{}}}: [ has no ]", body.substr(0, 40)));
    has_index = true;
    index = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  if (indirect && has_index && (index == "@" || index == "*")) {
    std::vector<ShellText> keys;
    if (const auto it = state_.variables.find(name); it != state_.variables.end()) {
      for (const auto& [key, entry] : it->second.entries) keys.push_back({key, line});
      for (size_t i = 0; i < it->second.items.size(); ++i)
        keys.push_back({std::to_string(i), line});
    }
    return put_list(keys, index == "*", quoting, out);
  }
  if (indirect) {
    const std::string target = value_of(name, index, has_index).text();
    if (ShellUnknowns::in(target)) return put(target, line, quoting, out);
    name = target.substr(0, target.find('['));
    has_index = target.ends_with(']') && name.size() < target.size();
    indirect_index =
        has_index ? target.substr(name.size() + 1, target.size() - name.size() - 2) : "";
    index = indirect_index;
  }
  Value value = value_of(name, index, has_index);
  if (counts) return put(size_text(value), line, quoting, out);

  const bool colon = rest.starts_with(':') && rest.size() > 1 &&
                     std::string_view("-=?+").find(rest[1]) != std::string_view::npos;
  const std::string_view operation = colon ? rest.substr(1) : rest;
  if (!operation.empty() &&
      std::string_view("-=?+").find(operation.front()) != std::string_view::npos) {
    session_.unset.erase("$" + name);
    session_.unset.erase(name);  // the script itself says what holds without it
    const bool there = value.set && (!colon || !value.text().empty());
    const std::string_view word = operation.substr(1);
    const char op = operation.front();
    if (op == '+') {
      if (there) expand(word, line, quoting, out);
      return;
    }
    if (!there && op == '?')
      return session_.fail(fmt::format("{} must be set ({}); give --env {}=VALUE", name,
                                       word.empty() ? "${" + name + "?}" : word_text(word, line),
                                       name));
    if (!there && op == '=') {
      assign(name, {word_text(word, line), line});
      return expand_name(name, line, quoting, out);
    }
    if (!there) return expand(word, line, quoting, out);
  } else if (!rest.empty()) {
    value = changed(std::move(value), rest, line);
  }
  if (!value.set) return;
  if (value.list) return put_list(value.items, value.one_text, quoting, out);
  put(value.items.empty() ? "" : value.items.front().text,
      value.items.empty() ? line : value.items.front().line, quoting, out);
}

/// Characters of a text, items of a list.
std::string ShellExpander::size_text(const Value& value) const {
  for (const ShellText& item : value.items) {
    if (!ShellUnknowns::in(item.text)) continue;
    const ShellUnknowns::Entry& entry = session_.unknowns.entry(item.text);
    if (!value.list || entry.any_words || !entry.choices.empty())
      return ShellUnknowns::first(item.text);
  }
  return std::to_string(value.list ? value.items.size() : value.text().size());
}

ShellExpander::Value ShellExpander::value_of(std::string_view name, std::string_view index,
                                             bool has_index) {
  if (name.empty()) return {};
  if (!is_word_char(name.front()) || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    return special(name);
  const auto it = state_.variables.find(name);
  if (it == state_.variables.end()) {
    if (name == "BASH_SOURCE") return {true, {{session_.name, 0}}, false, false};
    if (name == "LINENO")
      return {true, {{std::to_string(session_.line % kLinesOfFile), 0}}, false, false};
    return from_outside(name);
  }
  const ShellVariable& variable = it->second;
  Value value;
  if (has_index && (index == "@" || index == "*")) {
    value = {true, variable.items, true, index == "*"};
    std::erase_if(value.items, [](const ShellText& item) { return item.text == kUnsetItem; });
    for (const auto& [key, entry] : variable.entries) value.items.push_back(entry);
    value.set = !value.items.empty();
    return value;
  }
  if (variable.kind == ShellVariable::Kind::kMap) {
    const auto entry = variable.entries.find(has_index ? word_text(index, session_.line) : "0");
    if (entry != variable.entries.end()) value = {true, {entry->second}, false, false};
    return value;
  }
  int64_t at = 0;
  if (has_index) {
    const std::string number = arithmetic(index);
    if (ShellUnknowns::in(number)) return {true, {{number, session_.line}}, false, false};
    const auto parsed = base::parse_integer(number);
    at = parsed ? *parsed : 0;
  }
  // arithmetic() may have assigned: the variable is looked up again.
  const auto again = state_.variables.find(name);
  if (again == state_.variables.end()) return {};
  const auto count = static_cast<int64_t>(again->second.items.size());
  if (at < 0) at += count;
  if (at >= 0 && at < count && again->second.items[static_cast<size_t>(at)].text != kUnsetItem)
    value = {true, {again->second.items[static_cast<size_t>(at)]}, false, false};
  return value;
}

ShellExpander::Value ShellExpander::special(std::string_view name) {
  const auto one = [&](std::string text) {
    return Value{true, {{std::move(text), session_.line}}, false, false};
  };
  if (name == "@" || name == "*") return {true, state_.arguments, true, name == "*", 1};
  if (name == "#") return one(std::to_string(state_.arguments.size()));
  if (name == "?")
    return one(state_.status == kUnknownStatus
                   ? session_.unknowns.mark(fmt::format("$? of {}", session_.where(session_.line)))
                   : std::to_string(state_.status));
  if (name == "0") return one(session_.name);
  if (name == "-") return one("hB");
  if (const auto number = base::parse_integer(name)) {
    const auto at = static_cast<size_t>(*number);
    if (at >= 1 && at <= state_.arguments.size())
      return {true, {state_.arguments[at - 1]}, false, false};
    session_.unset.insert("$" + std::string(name));
    return {};
  }
  return from_outside(name);
}

ShellExpander::Value ShellExpander::from_outside(std::string_view name) {
  const auto unknown = [&](std::string reason) {
    return Value{true, {{session_.unknowns.mark(std::move(reason)), session_.line}}, false, false};
  };
  if (is_of_machine(name)) return unknown(fmt::format("${}, which differs by machine", name));
  if (name.starts_with("SLURM_") && session_.is_batch)
    return unknown(fmt::format("${}, which Slurm sets (give --env {}=VALUE)", name, name));
  if (!state_.missing_source.empty())
    return Value{true,
                 {{session_.unknowns.mark_words(fmt::format(
                       "${}, which {} may set, and that is not here", name, state_.missing_source)),
                   session_.line}},
                 false,
                 false};
  session_.unset.insert(std::string(name));
  return {};
}

ShellExpander::Value ShellExpander::changed(Value value, std::string_view operation, int line) {
  if (value.list && operation.front() == ':') {
    // ${ARGS[@]:1:2}
    const size_t second = operation.find(':', 1);
    const auto begin = base::parse_integer(arithmetic(operation.substr(1, second - 1)));
    const auto count = second == operation.npos
                           ? base::Result<int64_t>(1'000'000)
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
                           ? base::Result<int64_t>(size)
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
    const auto first = base::parse_integer(inner.substr(0, dots));
    const auto last = base::parse_integer(inner.substr(dots + 2));
    if (!first || !last || *first < -1'000'000 || *first > 1'000'000 ||
        std::abs(*last - *first) > 9'999)
      return {raw};
    for (int64_t i = *first;; i += *last < *first ? -1 : 1) {
      choices.push_back(std::to_string(i));
      if (i == *last) break;
    }
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
