#include "intake/reader/python_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::intake {
namespace {

constexpr size_t kMostBases = 8;

/// `name: type = value` or `name = value`
PythonField field_of(std::string_view text, size_t at) {
  const size_t equals = assignment_in(text);
  const std::string target = trimmed(text.substr(0, equals));
  PythonField field{trimmed(std::string_view(target).substr(0, target.find(':'))), "", at};
  if (equals < text.size()) field.value = trimmed(text.substr(equals + 1));
  return field;
}

bool defines(std::string_view statement, std::string_view kind) {
  if (kind == "def" && statement.starts_with("async ")) statement.remove_prefix(6);
  return statement.starts_with(kind) && statement.size() > kind.size() &&
         statement[kind.size()] == ' ';
}

}  // namespace

size_t assignment_in(std::string_view text) {
  const std::string whole(text);
  int depth = 0;
  for (size_t i = 0; i < whole.size();) {
    const char c = whole[i];
    if (c == '"' || c == '\'') {
      i = behind_string(whole, i);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool compares =
        (i + 1 < whole.size() && whole[i + 1] == '=') ||
        (i > 0 && std::string_view("=!<>:").find(whole[i - 1]) != std::string_view::npos);
    if (c == '=' && depth == 0 && !compares) return i;
    ++i;
  }
  return whole.size();
}

size_t PythonNames::scope(size_t at) const {
  for (const size_t head : statements_.around(at))
    if (defines(statements_.statement(head), "def") || is_class(head)) return head;
  return kModule;
}

bool PythonNames::is_class(size_t scope) const {
  return scope != kModule && defines(statements_.statement(scope), "class");
}

std::optional<PythonBinding> PythonNames::binding(std::string_view name, size_t at) const {
  const std::string_view statement = statements_.statement(at);
  const size_t begin =
      statements_.start(at) +
      (text_.find_first_not_of(" \t", statements_.start(at)) - statements_.start(at));
  if (statements_.nested(at)) {
    const std::string rest = trimmed(std::string_view(text_).substr(at + name.size(), 4));
    // `(NAME := 4)`, and a target of several within brackets.
    if (rest.starts_with(":=")) return PythonBinding{at, "", -1};
    if (!statement.starts_with('(')) return std::nullopt;
  }
  if (at < begin || (at > 0 && text_[at - 1] == '.')) return std::nullopt;
  const std::string before = trimmed(statement.substr(0, at - begin));
  for (const std::string_view word : {"for", "as", "import", "global", "nonlocal", "del"})
    if (before == word || before.ends_with(" " + std::string(word)))
      return PythonBinding{at, "", -1};
  if (statement.starts_with("for ") && at - begin < statement.find(" in "))
    return PythonBinding{at, "", -1};
  const size_t equals = assignment_in(statement);
  const size_t offset = at - begin;
  if (equals >= statement.size() || offset > equals) return std::nullopt;
  std::string target = trimmed(statement.substr(0, equals));
  const std::string value = trimmed(statement.substr(equals + 1));
  constexpr std::string_view kOperators = "+-*/%|&^@";
  // `if debug: batch = 1` on one line, `batch += 1`, `a = batch = 1`.
  const bool simple = !target.empty() && kOperators.find(target.back()) == target.npos &&
                      assignment_in(value) == value.size();
  if (target.starts_with('(') && target.ends_with(')'))
    target = target.substr(1, target.size() - 2);
  if (target.find(',') == target.npos) {
    const std::string plain = trimmed(std::string_view(target).substr(0, target.find(':')));
    if (plain == name && simple) return PythonBinding{at, value, -1};
    const std::string bare = trimmed(plain.substr(0, plain.find_first_of("+-*/%|&^@")));
    const bool colon = target.find(':') != target.npos && offset > target.find(':');
    // `batch *= 2`
    if (bare == name && !plain.ends_with(']') && assignment_in(value) == value.size())
      return PythonBinding{
          at, fmt::format("{} {} ({})", name, trimmed(plain.substr(bare.size())), value), -1};
    if (bare == name || (colon && !target.ends_with(']'))) return PythonBinding{at, "", -1};
    return std::nullopt;
  }
  const std::vector<PythonArgument> targets = arguments_of_call("(" + target + ")", 0);
  for (size_t i = 0; i < targets.size(); ++i)
    if (targets[i].value == name)
      return simple ? PythonBinding{at, value, static_cast<int>(i)} : PythonBinding{at, "", -1};
  return std::nullopt;
}

std::vector<PythonBinding> PythonNames::bindings(std::string_view name, size_t in) const {
  // More of one name is no program that somebody writes by hand.
  constexpr int kMost = 20;
  std::vector<PythonBinding> found;
  int all = 0;
  for (const size_t at : words_of(text_, name)) {
    auto bound = binding(name, at);
    if (!bound) bound = mutation(name, at);
    if (!bound) continue;
    if (++all > kMost) return {PythonBinding{0, "", -1}};
    if (scope(at) == in) found.push_back(*std::move(bound));
  }
  return found;
}

/// A statement that changes a dictionary or list, as an expression of what it was.
std::optional<PythonBinding> PythonNames::mutation(std::string_view name, size_t at) const {
  if (text_.find_first_not_of(" \t", statements_.start(at)) != at) return std::nullopt;
  const std::string rest = trimmed(statements_.statement(at).substr(name.size()));
  const size_t equals = assignment_in(rest);
  if (rest.starts_with('[') && equals < rest.size()) {
    const size_t end = behind_bracket(rest, 0);
    if (trimmed(std::string_view(rest).substr(end, equals - end)) != "") return std::nullopt;
    return PythonBinding{at,
                         fmt::format("{} | {{{}: {}}}", name, rest.substr(1, end - 2),
                                     trimmed(std::string_view(rest).substr(equals + 1))),
                         -1};
  }
  for (const auto& [method, form] : {std::pair(".update(", "{0} | dict({1})"),
                                     {".append(", "{0} + [{1}]"},
                                     {".extend(", "{0} + ({1})"}})
    if (rest.starts_with(method) && rest.ends_with(')')) {
      const size_t open = std::string_view(method).size();
      const std::string given = rest.substr(open, rest.size() - open - 1);
      return PythonBinding{at, fmt::format(fmt::runtime(form), name, given), -1};
    }
  return std::nullopt;
}

bool PythonNames::is_mutated(std::string_view name, size_t scope) const {
  return std::ranges::any_of(words_of(text_, name), [&](size_t at) {
    if (at > 0 && text_[at - 1] == '.') return false;
    if (this->scope(at) == scope && mutation(name, at)) return false;
    const size_t next = at + name.size();
    const std::string_view rest = std::string_view(text_).substr(next, 16);
    constexpr std::array kMethods =
        std::to_array<std::string_view>({".update(", ".pop(", ".setdefault(", ".append(",
                                         ".extend(", ".insert(", ".clear(", ".remove("});
    if (std::ranges::any_of(kMethods,
                            [&](std::string_view method) { return rest.starts_with(method); }))
      return true;
    if (!rest.starts_with('[') || statements_.nested(at)) return false;
    const std::string behind =
        trimmed(std::string_view(text_).substr(behind_bracket(text_, next), 8));
    const size_t equals = behind.find('=');
    return equals < 3 && behind.find("==") != equals;
  });
}

size_t PythonNames::definition(std::string_view kind, std::string_view name) const {
  size_t found = kModule;
  for (const size_t at : words_of(text_, name)) {
    const size_t start = statements_.start(at);
    const std::string_view statement = statements_.statement(start);
    if (!defines(statement, kind) || name_of(start) != name) continue;
    if (found != kModule && found != start) return kModule;
    found = start;
  }
  return found;
}

std::string PythonNames::name_of(size_t definition) const {
  std::string_view statement = statements_.statement(definition);
  if (statement.starts_with("async ")) statement.remove_prefix(6);
  const std::string rest =
      trimmed(statement.substr(std::min(statement.find(' '), statement.size())));
  size_t end = 0;
  while (end < rest.size() && is_word(rest[end])) ++end;
  return rest.substr(0, end);
}

std::string_view PythonNames::body(size_t definition) const {
  return std::string_view(text_).substr(definition,
                                        statements_.end_of_block(definition) - definition);
}

bool PythonNames::is_decorated(size_t definition) const {
  const size_t before = statements_.previous(definition);
  return before != kModule && statements_.statement(before).starts_with('@');
}

std::vector<PythonField> PythonNames::parameters(size_t definition) const {
  const size_t open = text_.find('(', definition);
  if (open == text_.npos) return {};
  std::vector<PythonField> found;
  for (const PythonArgument& it : arguments_of_call(text_, open)) {
    const std::string whole = it.name.empty() ? it.value : it.name + "=" + it.value;
    found.push_back(field_of(whole, definition));
  }
  return found;
}

std::vector<std::string> PythonNames::bases(std::string_view class_name) const {
  const size_t at = definition("class", class_name);
  if (at == kModule) return {};
  const std::string_view statement = statements_.statement(at);
  const size_t open = statement.find('('), colon = statement.find(':');
  if (open == statement.npos || open > colon) return {};
  std::vector<std::string> found;
  for (const PythonArgument& it : arguments_of_call(std::string(statement), open))
    if (it.name.empty()) found.emplace_back(base::last_part(it.value, '.'));
  return found;
}

std::vector<PythonField> PythonNames::fields(std::string_view class_name) const {
  std::vector<PythonField> found;
  std::vector<std::string> classes = {std::string(class_name)};
  for (size_t i = 0; i < classes.size() && i < kMostBases; ++i) {
    const size_t at = definition("class", classes[i]);
    if (at == kModule) continue;
    for (const size_t child : statements_.children(at)) {
      const PythonField field = field_of(statements_.statement(child), child);
      const bool known = std::ranges::any_of(
          found, [&](const PythonField& other) { return other.name == field.name; });
      if (is_dotted_name(field.name) && !field.value.empty() && !known) found.push_back(field);
    }
    for (std::string& base : bases(classes[i])) classes.push_back(std::move(base));
  }
  return found;
}

std::optional<PythonField> PythonNames::field(std::string_view class_name,
                                              std::string_view name) const {
  for (PythonField& it : fields(class_name))
    if (it.name == name) return std::move(it);
  return std::nullopt;
}

}  // namespace ergometer::intake
