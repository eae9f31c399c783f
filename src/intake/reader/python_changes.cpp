#include "intake/reader/python_changes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/collection.h"

namespace ergometer::intake {
namespace {

/// Where the body begins of `if debug: batch = 1` on one line; npos where there is none.
size_t body_on_line(const std::string& statement) {
  constexpr std::array kHeads = std::to_array<std::string_view>(
      {"if ", "if(", "elif ", "else:", "for ", "while ", "with ", "try:"});
  if (std::ranges::none_of(kHeads, [&](auto head) { return statement.starts_with(head); }))
    return statement.npos;
  for (size_t i = 0; i < statement.size();) {
    const char c = statement[i];
    if (c == ':') return i + 1;
    i = c == '"' || c == '\''              ? behind_string(statement, i)
        : c == '(' || c == '[' || c == '{' ? behind_bracket(statement, i)
                                           : i + 1;
  }
  return statement.npos;
}

/// setattr(OBJECT, NAME, VALUE), NAME and VALUE perhaps those of `for NAME, VALUE in
/// ITEMS.items():`
std::vector<PythonAssignment> set_attribute(PythonValues& values,
                                            const PythonStatements& statements, size_t at,
                                            const std::string& statement) {
  const auto given = arguments_of_call(statement, statement.find('('));
  if (given.size() != 3) return {};
  const std::string object = given[0].value + ".";
  if (const auto name = values.value(given[1].value, at); name && name->is_string())
    return {{object + name->get<std::string>(), given[2].value}};
  const std::vector<PythonAssignment> unknown = {{object, ""}};
  const auto around = statements.around(at);
  if (around.empty()) return unknown;
  const std::string head = trimmed(statements.statement(around.front()));
  const size_t in = head.find(" in "), items = head.rfind(".items():");
  if (!head.starts_with("for ") || in == head.npos || items == head.npos || items < in)
    return unknown;
  const auto names = python_targets(std::string_view(head).substr(4, in - 4));
  if (names != std::vector{given[1].value, given[2].value}) return unknown;
  const auto all = values.value(head.substr(in + 4, items - in - 4), around.front());
  if (!all || !all->is_object()) return unknown;
  std::vector<PythonAssignment> made;
  for (const auto& [key, item] : all->items()) made.push_back({object + key, python_literal(item)});
  return made;
}

void assign(std::string_view targets, const std::string& expression,
            std::vector<PythonAssignment>& made) {
  constexpr std::string_view kOperators = "+-*/%|&^@<>";
  const size_t bare = targets.find_last_not_of(kOperators);
  if (bare != targets.npos && bare + 1 < targets.size()) {
    made.push_back({trimmed(targets.substr(0, bare + 1)), ""});
    return;
  }
  const std::vector<std::string> names = python_targets(targets);
  if (names.size() == 1) {
    made.push_back({trimmed(std::string_view(names[0]).substr(0, names[0].find(':'))), expression});
    return;
  }
  const auto parts = arguments_of_call("(" + expression + ")", 0);
  for (size_t i = 0; i < names.size(); ++i)
    made.push_back({names[i], parts.size() == names.size() ? parts[i].value : ""});
}

/// Follows one object through a program.
class ChangesOfObject {
 public:
  ChangesOfObject(PythonValues& values, const PythonStatements& statements, const std::string& text)
      : values_(values), statements_(statements), text_(text) {}

  std::vector<PythonChange> read(const std::string& name, size_t made) {
    const bool is_function = statements_.statement(made).starts_with("def ");
    if (name.empty())
      hand_to_callers(made);
    else
      follow(name, statements_.behind(made), text_.size(),
             is_function ? statements_.start(made) : names().scope(made));
    std::ranges::stable_sort(found_, {}, &Found::when);
    std::vector<PythonChange> changes;
    for (Found& it : found_) changes.push_back(std::move(it.change));
    return changes;
  }

 private:
  struct Found {
    PythonChange change;
    size_t when = 0;  ///< a place that orders them: of what a function does, where it is called
  };
  const PythonNames& names() const { return values_.names(); }

  void follow(const std::string& name, size_t from, size_t to, size_t home) {
    constexpr int kDeepest = 8;
    if (name.empty() || ++depth_ > kDeepest) return;
    for (const size_t at : words_of(text_, name))
      if (at >= from && at < to && !(at > 0 && text_[at - 1] == '.') &&
          !is_another(name, at, home) && seen_.insert(at).second)
        follow_word(name, at, to);
    --depth_;
  }
  /// The same name of something else: what another function binds itself, or is handed to.
  bool is_another(const std::string& name, size_t at, size_t home) const {
    const size_t scope = names().scope(at);
    if (scope == home || scope == PythonNames::kModule || names().is_class(scope)) return false;
    if (!names().bindings(name, scope).empty()) return true;
    const auto parameters = names().parameters(scope);
    return std::ranges::find(parameters, name, &PythonField::name) != parameters.end() &&
           calls_of(text_, names().name_of(scope)).size() > 1;
  }
  void follow_word(const std::string& name, size_t at, size_t to) {
    // More of one object nobody writes by hand.
    if (seen_.size() > kMostPythonArguments) {
      if (seen_.size() == kMostPythonArguments + 1) add(at, "", "");
      return;
    }
    const std::string statement = trimmed(statements_.statement(at));
    const size_t next = statements_.behind(at);
    if (statement.starts_with("return ")) hand_to_callers(at, name);
    for (const PythonAssignment& it : python_assignments(values_, statements_, at)) {
      if (it.target.starts_with(name + ".") &&
          handled_.insert({statements_.start(at), it.target + it.expression}).second)
        add_attribute(at, it.target.substr(name.size() + 1), it.expression);
      if (it.expression == name) follow(it.target, next, to, names().scope(at));
    }
    if (changes_unnamed(name, at)) add(at, "", "");
    if (statements_.nested(at)) follow_argument(name, at, to);
  }
  /// args.set_training(...), vars(args).update(...), args.__dict__["bf16"] = True
  bool changes_unnamed(const std::string& name, size_t at) const {
    std::string rest = text_.substr(at + name.size(), 80);
    if (rest.starts_with(".set_")) return true;
    if (at >= 5 && text_.compare(at - 5, 5, "vars(") == 0 && rest.starts_with(')'))
      rest = rest.substr(1);
    else if (constexpr std::string_view kItems = ".__dict__"; rest.starts_with(kItems))
      rest = rest.substr(kItems.size());
    else
      return false;
    if (rest.starts_with(".update(")) return true;
    const size_t behind = behind_bracket(rest, 0);
    const std::string after = trimmed(std::string_view(rest).substr(std::min(behind, rest.size())));
    return rest.starts_with('[') && after.starts_with('=') && !after.starts_with("==");
  }
  /// Where the call opens that a place is an argument of.
  size_t call_around(size_t at) const {
    int depth = 0;
    for (size_t i = at; i > statements_.start(at); --i) {
      const char c = text_[i - 1];
      if (c == ')' || c == ']' || c == '}') ++depth;
      if ((c == '(' || c == '[' || c == '{') && --depth < 0) return c == '(' ? i - 1 : text_.npos;
    }
    return text_.npos;
  }
  void follow_argument(const std::string& name, size_t at, size_t to) {
    const size_t open = call_around(at);
    if (open == text_.npos) return;
    size_t begin = open;
    while (begin > 0 && is_word(text_[begin - 1])) --begin;
    const std::string callee = text_.substr(begin, open - begin);
    const auto given = arguments_of_call(text_, open);
    const auto argument = std::ranges::find(given, name, &PythonArgument::value);
    if (argument == given.end()) return;
    const auto position = static_cast<size_t>(argument - given.begin());
    const std::string target = made_by(at);
    const size_t next = statements_.behind(at), scope = names().scope(at);
    if (callee == "replace" && position == 0) {
      for (const PythonArgument& it : given)
        if (!it.name.empty()) add(at, it.name, it.value);
      if (given.size() > 1 && given.back().value.starts_with("**")) add(at, "", "");
    }
    if (base::contains(std::to_array<std::string_view>({"replace", "copy", "deepcopy"}), callee))
      follow(target, next, to, scope);
    if (callee.ends_with("Trainer") && !target.empty()) follow(target + ".args", next, to, scope);
    const size_t own = names().definition("def", callee);
    const size_t function = own == PythonNames::kModule ? constructor(callee) : own;
    if (function == PythonNames::kModule || values_.reached(at, true) == false) return;
    const auto parameters = names().parameters(function);
    const bool method = !parameters.empty() && parameters.front().name == "self";
    const size_t place = position + (method ? 1 : 0);
    if (argument->name.empty() && place >= parameters.size()) return;
    const size_t before = found_.size();
    follow(argument->name.empty() ? parameters[place].name : argument->name, function,
           statements_.end_of_block(function), function);
    const bool perhaps = !values_.reached(at, true);
    for (size_t i = before; i < found_.size(); ++i) {
      if (names().scope(found_[i].change.at) != function) continue;
      found_[i].when = at;
      if (perhaps) found_[i].change.at = at;
    }
  }
  size_t constructor(const std::string& class_name) const {
    const size_t at = names().definition("class", class_name);
    if (at == PythonNames::kModule) return at;
    for (const size_t child : statements_.children(at))
      if (statements_.statement(child).starts_with("def __init__(")) return child;
    return PythonNames::kModule;
  }
  /// The name that a statement gives its only value to.
  std::string made_by(size_t at) const {
    const std::string_view statement = statements_.statement(at);
    const size_t equals = assignment_in(statement);
    const auto targets = equals < statement.size() ? python_targets(statement.substr(0, equals))
                                                   : std::vector<std::string>();
    return targets.size() == 1 ? targets[0] : "";
  }
  /// `return args`, `return model, args`, `return TrainingArguments(...)` (no name): what the
  /// function's callers call it.
  void hand_to_callers(size_t at, const std::string& name = "") {
    const std::string statement = trimmed(statements_.statement(at));
    const size_t function = names().scope(at);
    if (!statement.starts_with("return ") || function == PythonNames::kModule) return;
    const auto parts = python_targets(std::string_view(statement).substr(7));
    const auto part = std::ranges::find(parts, name);
    if (!name.empty() && part == parts.end()) return;
    const auto index = name.empty() ? 0 : static_cast<size_t>(part - parts.begin());
    for (const auto& [call, open] : calls_of(text_, names().name_of(function))) {
      if (statements_.start(call) == function) continue;
      for (Found& it : found_)
        if (names().scope(it.change.at) == function) it.when = call;
      const std::string_view whole = statements_.statement(call);
      const size_t equals = assignment_in(whole);
      if (equals >= whole.size()) continue;
      const auto targets = python_targets(whole.substr(0, equals));
      if (targets.size() == (name.empty() ? 1 : parts.size()))
        follow(targets[index], statements_.behind(call), text_.size(), names().scope(call));
    }
  }
  /// "bf16", or what `fsdp_config["offload"] = True` leaves of the whole.
  void add_attribute(size_t at, const std::string& attribute, const std::string& expression) {
    const size_t item = attribute.find('[');
    if (!attribute.starts_with("__dict__"))
      add(at, attribute.substr(0, item), item == attribute.npos ? expression : "");
  }
  void add(size_t at, const std::string& attribute, const std::string& expression) {
    found_.push_back({{at, attribute, expression}, at});
  }

  PythonValues& values_;
  const PythonStatements& statements_;
  const std::string& text_;
  std::vector<Found> found_;
  std::set<size_t> seen_;
  std::set<std::pair<size_t, std::string>> handled_;
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> python_targets(std::string_view list) {
  std::string inner = trimmed(list);
  if ((inner.starts_with('(') || inner.starts_with('[')) &&
      behind_bracket(inner, 0) == inner.size())
    inner = inner.substr(1, inner.size() - 2);
  std::vector<std::string> names;
  for (const PythonArgument& it : arguments_of_call("(" + inner + ")", 0))
    if (!it.value.empty()) names.push_back(it.value);
  return names;
}

std::vector<PythonAssignment> python_assignments(PythonValues& values,
                                                 const PythonStatements& statements, size_t at) {
  // Longer statements, and more targets of one, nobody writes by hand.
  constexpr size_t kLongest = 20'000, kMostTargets = 8;
  std::string statement = trimmed(statements.statement(at));
  if (statement.size() > kLongest) return {};
  const size_t body = body_on_line(statement);
  if (body != statement.npos) statement = trimmed(std::string_view(statement).substr(body));
  std::vector<PythonAssignment> made;
  if (statement.starts_with("setattr(")) {
    made = set_attribute(values, statements, at, statement);
  } else {
    std::vector<std::string> targets;
    std::string rest = statement;
    for (size_t equals = assignment_in(rest);
         equals < rest.size() && targets.size() <= kMostTargets; equals = assignment_in(rest)) {
      targets.push_back(trimmed(std::string_view(rest).substr(0, equals)));
      rest = trimmed(std::string_view(rest).substr(equals + 1));
    }
    if (targets.size() > kMostTargets) return {};
    for (const std::string& target : targets) assign(target, rest, made);
  }
  // Whether the body of one line counts is not asked.
  if (body != std::string::npos)
    for (PythonAssignment& it : made) it.expression.clear();
  return made;
}

std::vector<PythonChange> python_changes(PythonValues& values, const PythonStatements& statements,
                                         const std::string& text, const std::string& name,
                                         size_t made) {
  return ChangesOfObject(values, statements, text).read(name, made);
}

}  // namespace ergometer::intake
