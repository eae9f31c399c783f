#include "intake/reader/python_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "intake/reader/python_changes.h"

namespace ergometer::intake {
namespace {

/// A class, by how Python's are called: `Part(...)`, `Part.Config(...)`.
bool makes_object(std::string_view callee) {
  const std::string_view last = base::last_part(callee, '.');
  return !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && last != "Path";
}

void erase_parts(const std::string& path, spec::FlatYaml& into) {
  const std::string parts = path + ".";
  for (auto it = into.lower_bound(parts); it != into.end() && it->first.starts_with(parts);)
    it = into.erase(it);
}

void set(const PythonProgram& program, size_t at, const std::string& path, std::string value,
         spec::FlatYaml& into) {
  // An object takes the place of all its parts.
  erase_parts(path, into);
  const int line = line_at(program.text, at);
  into[path] = {std::move(value), line, fmt::format("{}:{}", program.file, line)};
}

/// "trainer.strategy.x" of `recipe.trainer.strategy.x`, and of `s.x` behind `s =
/// recipe.trainer.strategy`; empty of what is no attribute.
std::string path_within(std::string target, const PythonNames& names, size_t at) {
  for (int i = 0; i < 8; ++i) {
    const std::string first = target.substr(0, target.find('.'));
    const PythonBinding* last = nullptr;
    const std::vector<PythonBinding> all = names.bindings(first, names.scope(at));
    for (const PythonBinding& it : all)
      if (it.at < at && it.index < 0) last = &it;
    if (last == nullptr || !is_dotted_name(last->expression) || last->expression == first) break;
    target.replace(0, first.size(), last->expression);
  }
  const size_t dot = target.find('.');
  std::string path = dot == target.npos || !is_dotted_name(target) ? "" : target.substr(dot + 1);
  // setattr(recipe.data, NAME, ...): all of what lies there.
  if (path.ends_with('.')) path.pop_back();
  return path;
}

constexpr int kDeepestObject = 12;
int depth_of(std::string_view path) { return static_cast<int>(std::ranges::count(path, '.')); }

}  // namespace

void add_python_call(PythonProgram& program, const std::string& expression, size_t at,
                     const std::string& prefix, spec::FlatYaml& into) {
  std::string maker = called_name(expression);
  for (const PythonArgument& it : arguments_of_call(expression, expression.find('('))) {
    if (!it.name.empty())
      add_python_value(program, it.value, at, prefix + it.name, into);
    else if (is_dotted_name(it.value) && (maker == "run.Config" || maker == "run.Partial"))
      maker = it.value;
  }
  if (!prefix.empty()) {
    const int line = line_at(program.text, at);
    into[prefix + "_target_"] = {maker, line, fmt::format("{}:{}", program.file, line)};
  }
}

void add_python_value(PythonProgram& program, const std::string& expression, size_t at,
                      const std::string& path, spec::FlatYaml& into) {
  const std::string maker = called_name(expression);
  if (makes_object(maker) && depth_of(path) < kDeepestObject) {
    set(program, at, path, "", into);
    into.erase(path);
    return add_python_call(program, expression, at, path + ".", into);
  }
  const auto value = program.values.text(expression, at);
  set(program, at, path, value.value_or(expression.substr(0, 60)), into);
}

void add_python_assignments(PythonProgram& program, size_t begin, size_t end,
                            bool (*takes)(std::string_view first), spec::FlatYaml& into) {
  const PythonStatements& statements = program.statements;
  PythonValues& values = program.values;
  int callbacks = 0;
  for (size_t at = begin; at < end; at = statements.behind(at)) {
    const std::string whole = trimmed(statements.statement(at));
    std::vector<PythonAssignment> made = python_assignments(values, statements, at);
    if (const size_t call = whole.find(".append("); is_dotted_name(whole.substr(0, call)))
      made = {{fmt::format("{}.{}", whole.substr(0, call), callbacks),
               trimmed(std::string_view(whole).substr(call + 8, whole.size() - call - 9))}};
    const auto reached = values.reached(at, true);
    if (reached && !*reached) continue;
    for (const PythonAssignment& it : made) {
      const std::string path = path_within(it.target, values.names(), at);
      if (path.empty() || !takes(path.substr(0, path.find('.')))) continue;
      if (whole.find(".append(") != whole.npos) ++callbacks;
      if (!reached || it.expression.empty())
        set(program, at, path, whole.substr(0, 60), into);
      else
        add_python_value(program, it.expression, at, path, into);
    }
  }
}

namespace {

/// What lies below one path, below another as well: `dataset=train` of `train = dict(...)`.
bool copy_tree(const std::string& from, const std::string& path, spec::FlatYaml& into) {
  const std::string prefix = from + ".";
  spec::FlatYaml copies;
  if (!is_dotted_name(from)) return false;
  for (auto it = into.lower_bound(prefix); it != into.end() && it->first.starts_with(prefix); ++it)
    copies[path + "." + it->first.substr(prefix.size())] = it->second;
  if (copies.empty()) return false;
  // Nothing stays of what the name was bound to before.
  into.erase(path);
  erase_parts(path, into);
  into.insert(copies.begin(), copies.end());
  return true;
}

/// A dictionary's items lie below its path.
void add_python_tree(PythonProgram& program, const std::string& expression, size_t at,
                     const std::string& path, spec::FlatYaml& into) {
  if (copy_tree(expression, path, into)) return;
  const auto items = dictionary_items(expression);
  if (!items || depth_of(path) >= kDeepestObject) {
    add_python_value(program, expression, at, path, into);
    // A name that stands for what is not known, as it is written there: `optim_type = AdamW`.
    const auto known = into.find(expression);
    if (is_dotted_name(expression) && known != into.end() && into[path].text == expression)
      into[path].text = std::string(known->second.text);
    return;
  }
  set(program, at, path, "", into);
  into.erase(path);
  for (const PythonArgument& it : *items)
    add_python_tree(program, it.value, at, path + "." + it.name, into);
}

/// "a.b.c" of `a["b"]["c"]`; empty where a key is no literal, or it is no item at all.
std::string path_of_item(const std::string& target) {
  size_t open = target.find('[');
  std::string path = trimmed(std::string_view(target).substr(0, open));
  if (open == target.npos || !is_dotted_name(path)) return "";
  for (size_t end = 0; open < target.size(); open = end) {
    end = behind_bracket(target, open);
    const std::string key = trimmed(std::string_view(target).substr(open + 1, end - open - 2));
    const bool quoted = key.size() > 2 && (key[0] == '"' || key[0] == '\'');
    const auto name = quoted && target[open] == '[' ? literal(key) : std::nullopt;
    if (!name || !is_dotted_name(*name)) return "";
    path += "." + *name;
  }
  return path;
}

/// Whether a statement begins with a dictionary that is known and changes it: `a.update(...)`,
/// `a["b"].pop("c")`, `a |= ...`, `del a["b"]`.
bool changes_dictionary(std::string_view statement, const spec::FlatYaml& known) {
  if (statement.starts_with("del ")) statement.remove_prefix(4);
  const auto end = std::ranges::find_if_not(statement, is_word);
  const std::string name(statement.begin(), end);
  const std::string_view rest = statement.substr(name.size());
  const auto part = known.lower_bound(name + ".");
  if (name.empty() || part == known.end() || !part->first.starts_with(name + ".")) return false;
  return rest.starts_with('.') || rest.starts_with('[') || trimmed(rest).starts_with("|=");
}

}  // namespace

Result<void> add_python_globals(const std::string& written, const std::string& file,
                                PythonStart start, spec::FlatYaml& into) {
  // Behind the last statement there is a place as well.
  PythonProgram program(without_comments(written) + "\npass\n", file, std::move(start));
  const PythonStatements& statements = program.statements;
  PythonValues& values = program.values;
  for (size_t at = 0; at < program.text.size(); at = statements.behind(at)) {
    const auto reached = values.reached(at, true);
    if (values.names().scope(at) != PythonNames::kModule || reached == false) continue;
    const std::string statement = trimmed(statements.statement(at));
    bool is_read = false;
    for (const PythonAssignment& it : python_assignments(values, statements, at)) {
      const bool is_item = !is_dotted_name(it.target);
      const std::string target = is_item ? path_of_item(it.target) : it.target;
      if (target.empty() || (is_item && it.expression.empty())) continue;
      is_read = true;
      if (!reached)
        set(program, at, target, statement.substr(0, 60), into);
      else if (!it.expression.empty())
        add_python_tree(program, it.expression, at, target, into);
      else  // `steps *= 2`
        add_python_value(program, target, statements.behind(at), target, into);
    }
    if (!is_read && changes_dictionary(statement, into))
      return input_error(
          "{}:{}: found {}; allowed: NAME[\"KEY\"] = VALUE: other changes of a dictionary are not "
          "read",
          file, line_at(program.text, at), statement.substr(0, 60));
  }
  return {};
}

}  // namespace ergometer::intake
