#include "intake/shell/shell_expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "intake/shell/shell_arithmetic.h"
#include "intake/shell/shell_files.h"

namespace ergometer::intake {
namespace {

constexpr int kDeepestWord = 40;
constexpr int64_t kMostExpanded = 8'000'000;  ///< characters that all expansions together may make
constexpr size_t kMostFields = 20'000;

std::string escaped_pattern(std::string_view text) {
  std::string hidden;
  for (const char c : text) {
    if (std::string_view("*?[]\\()|@+!").find(c) != std::string_view::npos) hidden += '\\';
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
    if (splits) {
      pattern_ += quoted ? escaped_pattern(text) : std::string(text);
      globs_ = globs_ || (!quoted && text.find_first_of("*?[") != text.npos);
    }
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
    if (has_ && done_.size() < kMostFields) {
      if (globs_) patterns_[done_.size()] = pattern_;
      done_.push_back({std::move(current_), line_});
    }
    current_.clear();
    pattern_.clear();
    globs_ = false;
    has_ = false;
  }
  /// An empty pair of quotes is a field, one that held an empty list is none.
  void mark_quoted() { has_ = true; }
  std::vector<ShellText> take() {
    end_field();
    return std::move(done_);
  }
  /// Of fields with *, ? or [ outside quotes: the field as a pattern, by its number.
  const std::map<size_t, std::string>& patterns() const { return patterns_; }
  std::string take_text() { return std::move(current_); }
  int line() const { return line_; }

  const bool splits;
  const bool hides;
  int in_braces = 0;  ///< the word of ${NAME:-WORD}: its own blanks end fields as well

 private:
  std::vector<ShellText> done_;
  std::string current_;
  std::string pattern_;
  std::map<size_t, std::string> patterns_;
  bool globs_ = false;
  std::string separators_;
  bool has_ = false;
  int line_;
};

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
      std::vector<ShellText> made = out.take();
      for (size_t i = 0; i < made.size(); ++i) {
        const auto pattern = out.patterns().find(i);
        if (pattern == out.patterns().end() || state_.no_globs)
          all.push_back(std::move(made[i]));
        else
          put_files(made[i], pattern->second, all);
      }
      if (session_.failed() || all.size() > kMostFields) return all;
    }
  }
  return all;
}

void ShellExpander::put_files(const ShellText& word, const std::string& pattern,
                              std::vector<ShellText>& all) {
  if (!may_name_files(word.text, state_.null_globs)) return all.push_back(word);
  const std::string script = session_.files.empty() ? "" : session_.files.front();
  const std::vector<std::string> files = files_that_match(pattern, state_.folder, script);
  for (const std::string& file : files) all.push_back({file, word.line});
  if (files.empty())
    all.push_back({session_.unknowns.mark_words(fmt::format(
                       "the files that {} means at {}", word.text, session_.where(session_.line))),
                   word.line});
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

void ShellExpander::put_value(const Value& value, int line, Quoting quoting, Fields& out) {
  if (!value.set) return;
  if (value.list) return put_list(value.items, value.one_text, quoting, out);
  if (value.items.empty()) return put("", line, quoting, out);
  put(value.items.front().text, value.items.front().line, quoting, out);
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
      at = expand_backquotes(raw, at, current, quoting, out);
    } else if (c == '\\') {
      at = expand_backslash(raw, at, current, quoting, out);
    } else if ((c == '\'' || c == '"') && quoting == Quoting::kNone) {
      at = expand_quotes(raw, at, current, out);
    } else if (c == '"' && quoting == Quoting::kDouble && out.in_braces > 0) {
      ++at;  // "${NAME:-"WORD"}"
    } else if (c == '~' && quoting == Quoting::kNone && at == 0 &&
               (raw.size() == 1 || raw[1] == '/')) {
      // Where it is matters only to who opens a file there: others see a path of that name.
      if (state_.variables.contains("HOME"))
        expand_name("HOME", current, Quoting::kDouble, out);
      else
        out.add("~", current, true);
      ++at;
    } else if ((c == '<' || c == '>') && quoting == Quoting::kNone &&
               raw.substr(at + 1, 1) == "(") {
      // <(command): a file that holds what it prints.
      const std::string path = fmt::format("/dev/fd/{}", 60 + state_.files.size());
      state_.files[path] = substitute_(raw.substr(at + 2, raw.size() - at - 3), current) + "\n";
      out.add(path, current, true);
      at = raw.size();
    } else {
      at = expand_plain(raw, at, current, quoting, out);
    }
  }
  --depth_;
}

size_t ShellExpander::expand_backquotes(std::string_view raw, size_t at, int line, Quoting quoting,
                                        Fields& out) {
  const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
  std::string inner;
  for (size_t i = at + 1; i + 1 < end; ++i)
    if (raw[i] != '\\' || i + 2 >= end || (raw[i + 1] != '`' && raw[i + 1] != '$')) inner += raw[i];
  put(substitute_(inner, line), 0, quoting, out);
  return end;
}

size_t ShellExpander::expand_backslash(std::string_view raw, size_t at, int& line, Quoting quoting,
                                       Fields& out) {
  const char next = at + 1 < raw.size() ? raw[at + 1] : '\0';
  const bool hides = quoting == Quoting::kNone || next == '$' || next == '`' || next == '\\' ||
                     (next == '"' && quoting == Quoting::kDouble);
  if (next == '\n')
    ++line;
  else
    out.add(hides ? raw.substr(at + 1, 1) : raw.substr(at, 2), line, true);
  return at + 2;
}

size_t ShellExpander::expand_quotes(std::string_view raw, size_t at, int& line, Fields& out) {
  const size_t end = std::min(skip_shell_piece(raw, at), raw.size());
  const std::string_view inner = raw.substr(at + 1, end - at - 2);
  if (raw[at] == '\'') {
    out.add(inner, line, true);
    return end;
  }
  // "$@" of nothing is no field; any other pair of quotes is one.
  const bool list = inner == "$@" || (inner.starts_with("${") && inner.ends_with("[@]}"));
  if (!list) out.mark_quoted();
  expand(inner, line, Quoting::kDouble, out);
  line += static_cast<int>(std::ranges::count(inner, '\n'));
  return end;
}

size_t ShellExpander::expand_plain(std::string_view raw, size_t at, int line, Quoting quoting,
                                   Fields& out) {
  const size_t end = std::min(raw.find_first_of("$`\\'\"\n<>~", at + 1), raw.size());
  if (out.in_braces > 0 && quoting == Quoting::kNone)
    out.add_split(raw.substr(at, end - at), line);
  else
    out.add(raw.substr(at, end - at), line, quoting != Quoting::kNone);
  return end;
}

void ShellExpander::expand_alternative(std::string_view word, int line, Quoting quoting,
                                       Fields& out) {
  ++out.in_braces;
  expand(word, line, quoting, out);
  --out.in_braces;
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
             (is_shell_name_char(piece[1]) ||
              std::string_view("@*#?$!-").find(piece[1]) != std::string_view::npos)) {
    expand_name(piece.substr(1), line, quoting, out);
  } else if (raw.substr(at, 2) == "$[" && quoting != Quoting::kDocument) {
    // The older way to write $((...)).
    const size_t close = raw.find(']', at);
    if (close == raw.npos) {
      session_.fail("$[ has no ]");
      return raw.size();
    }
    put(arithmetic(raw.substr(at + 2, close - at - 2)), line, quoting, out);
    return close + 1;
  } else if (piece == "$\"") {
    return at + 1;
  } else {
    out.add(piece.substr(0, 1), line, quoting != Quoting::kNone);
    return at + 1;
  }
  return end;
}

void ShellExpander::expand_name(std::string_view name, int line, Quoting quoting, Fields& out) {
  put_value(value_of(name, "", false), line, quoting, out);
}

std::optional<ShellExpander::BracedName> ShellExpander::braced_name(std::string_view body) {
  BracedName it;
  it.counts = body.size() > 1 && body.front() == '#' && body != "#}";
  it.indirect = body.size() > 1 && body.front() == '!';
  std::string_view rest = it.counts || it.indirect ? body.substr(1) : body;
  size_t end = 0;
  if (!rest.empty() && !is_shell_name_char(rest.front()))
    end = 1;
  else
    while (end < rest.size() && is_shell_name_char(rest[end])) ++end;
  it.name = rest.substr(0, end);
  rest.remove_prefix(end);
  if (rest.starts_with('[')) {
    const size_t close = rest.find(']');
    if (close == rest.npos) return std::nullopt;
    it.has_index = true;
    it.index = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  it.operation = rest;
  return it;
}

/// What stands between ${ and }.
void ShellExpander::expand_braces(std::string_view body, int line, Quoting quoting, Fields& out) {
  std::optional<BracedName> it = braced_name(body);
  if (!it) return session_.fail(fmt::format("${{{}}}: [ has no ]", body.substr(0, 40)));
  if (it->indirect && expand_indirect(*it, line, quoting, out)) return;
  Value value = value_of(it->name, it->index, it->has_index);
  if (it->counts) return put(size_text(value), line, quoting, out);
  const std::string_view operation = it->operation;
  const size_t sign = operation.size() > 1 && operation.front() == ':' ? 1 : 0;
  if (operation.find_first_of("-=?+", sign) == sign) {
    if (expand_default(*it, value, line, quoting, out)) return;
  } else if (!operation.empty()) {
    value = changed(std::move(value), operation, line);
  }
  put_value(value, line, quoting, out);
}

bool ShellExpander::expand_indirect(BracedName& it, int line, Quoting quoting, Fields& out) {
  const auto variable = state_.variables.find(it.name);
  const bool known = variable != state_.variables.end();
  if (it.has_index && (it.index == "@" || it.index == "*")) {
    std::vector<ShellText> keys;
    if (known) {
      for (const auto& [key, entry] : variable->second.entries) keys.push_back({key, line});
      for (size_t i = 0; i < variable->second.items.size(); ++i)
        if (variable->second.items[i].text != kUnsetItem) keys.push_back({std::to_string(i), line});
    }
    put_list(keys, it.index == "*", quoting, out);
    return true;
  }
  if (known && !variable->second.refers_to.empty()) {
    put(variable->second.refers_to, line, quoting, out);
    return true;
  }
  const std::string target = value_of(it.name, it.index, it.has_index).text();
  if (ShellUnknowns::in(target)) {
    put(target, line, quoting, out);
    return true;
  }
  it.name = target.substr(0, target.find('['));
  it.has_index = target.ends_with(']') && it.name.size() < target.size();
  it.index =
      it.has_index ? target.substr(it.name.size() + 1, target.size() - it.name.size() - 2) : "";
  return false;
}

bool ShellExpander::expand_default(const BracedName& it, const Value& value, int line,
                                   Quoting quoting, Fields& out) {
  const std::string& name = it.name;
  const bool colon = it.operation.front() == ':';
  const char op = it.operation[colon ? 1 : 0];
  const std::string_view word = it.operation.substr(colon ? 2 : 1);
  session_.unset.erase("$" + name);
  session_.unset.erase(name);  // the script itself says what holds without it
  const bool there = value.set && (!colon || !value.text().empty());
  if (op == '+') {
    if (there) expand_alternative(word, line, quoting, out);
    return true;
  }
  if (there) return false;
  const bool positional = base::parse_integer(name).has_value();
  if (op == '?')
    session_.fail(fmt::format("{} must be set ({}); give {}", positional ? "$" + name : name,
                              word.empty() ? "${" + name + "?}" : word_text(word, line),
                              positional ? std::string("the script's arguments with --script-args")
                                         : fmt::format("--env {}=VALUE", name)));
  else if (op == '=') {
    assign(name, {word_text(word, line), line});
    expand_name(name, line, quoting, out);
  } else {
    expand_alternative(word, line, quoting, out);
  }
  return true;
}

}  // namespace ergometer::intake
