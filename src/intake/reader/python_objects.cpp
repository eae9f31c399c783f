#include "intake/reader/python_objects.h"

#include <fmt/format.h>

#include <algorithm>

namespace ergometer::intake {
namespace {

bool is_path(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.'; });
}

/// "run.Config" of `run.Config(Part, c=2)`; empty where it is no call alone.
std::string called(const std::string& expression) {
  const size_t open = expression.find('(');
  if (open == expression.npos || behind_bracket(expression, open) != expression.size()) return "";
  const std::string name = trimmed(std::string_view(expression).substr(0, open));
  return is_path(name) ? name : "";
}

/// A class, by how Python's are called: `Part(...)`, `Part.Config(...)`.
bool makes_object(std::string_view callee) {
  const std::string_view last = callee.substr(callee.rfind('.') + 1);
  return !last.empty() && last[0] >= 'A' && last[0] <= 'Z' && last != "Path";
}

void set(const std::string& text, const std::string& file, size_t at, const std::string& path,
         std::string value, spec::FlatYaml& into) {
  // An object takes the place of all its parts.
  const std::string parts = path + ".";
  for (auto it = into.lower_bound(parts); it != into.end() && it->first.starts_with(parts);)
    it = into.erase(it);
  const int line = line_at(text, at);
  into[path] = {std::move(value), line, fmt::format("{}:{}", file, line)};
}

constexpr int kDeepest = 12;
int depth_of(std::string_view path) { return static_cast<int>(std::ranges::count(path, '.')); }

}  // namespace

void add_python_call(PythonValues& values, const std::string& text, const std::string& file,
                     const std::string& expression, size_t at, const std::string& prefix,
                     spec::FlatYaml& into) {
  std::string maker = called(expression);
  for (const PythonArgument& it : arguments_of_call(expression, expression.find('('))) {
    if (!it.name.empty())
      add_python_value(values, text, file, it.value, at, prefix + it.name, into);
    else if (is_path(it.value) && (maker == "run.Config" || maker == "run.Partial"))
      maker = it.value;
  }
  if (!prefix.empty()) {
    const int line = line_at(text, at);
    into[prefix + "_target_"] = {maker, line, fmt::format("{}:{}", file, line)};
  }
}

void add_python_value(PythonValues& values, const std::string& text, const std::string& file,
                      const std::string& expression, size_t at, const std::string& path,
                      spec::FlatYaml& into) {
  const std::string maker = called(expression);
  if (makes_object(maker) && depth_of(path) < kDeepest) {
    set(text, file, at, path, "", into);
    into.erase(path);
    return add_python_call(values, text, file, expression, at, path + ".", into);
  }
  const auto value = values.text(expression, at);
  set(text, file, at, path, value.value_or(expression.substr(0, 60)), into);
}

void add_python_assignments(PythonValues& values, const PythonStatements& statements,
                            const std::string& text, const std::string& file, size_t begin,
                            size_t end, bool (*takes)(std::string_view first),
                            spec::FlatYaml& into) {
  int callbacks = 0;
  for (size_t at = begin; at < end; at = statements.behind(at)) {
    const std::string whole = trimmed(statements.statement(at));
    const size_t stop = whole.find_first_of("=( ");
    const std::string target = whole.substr(0, stop);
    const size_t dot = target.find('.');
    if (dot == target.npos || stop == whole.npos || !is_path(target)) continue;
    std::string path = target.substr(dot + 1);
    if (!takes(path.substr(0, path.find('.')))) continue;
    const auto reached = values.reached(at, true);
    if (reached && !*reached) continue;
    std::string expression;
    const std::string rest = trimmed(std::string_view(whole).substr(stop));
    if (path.ends_with(".append") && rest.starts_with('(')) {
      path = fmt::format("{}.{}", path.substr(0, path.size() - 7), callbacks++);
      expression = trimmed(std::string_view(rest).substr(1, rest.size() - 2));
    } else if (rest.starts_with('=') && !rest.starts_with("==")) {
      expression = trimmed(std::string_view(rest).substr(1));
    } else {
      continue;
    }
    if (!reached) {
      set(text, file, at, path, whole.substr(0, 60), into);
      continue;
    }
    add_python_value(values, text, file, expression, at, path, into);
  }
}

}  // namespace ergometer::intake
