#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/shell/shell_arithmetic.h"
#include "intake/shell/shell_expand.h"

// What names stand for: variables, arguments, what Slurm and the machine set, arithmetic.

namespace ergometer::intake {
namespace {

/// Variables that differ from machine to machine: their values are never known here.
bool is_of_machine(std::string_view name) {
  constexpr std::array kNames = std::to_array<std::string_view>({"HOME",
                                                                 "USER",
                                                                 "LOGNAME",
                                                                 "PWD",
                                                                 "OLDPWD",
                                                                 "HOSTNAME",
                                                                 "PATH",
                                                                 "LD_LIBRARY_PATH",
                                                                 "SHELL",
                                                                 "RANDOM",
                                                                 "SECONDS",
                                                                 "TMPDIR",
                                                                 "UID",
                                                                 "EUID",
                                                                 "PPID",
                                                                 "$",
                                                                 "!",
                                                                 "EPOCHSECONDS",
                                                                 "BASHPID",
                                                                 "BASH_VERSION",
                                                                 "BASH_VERSINFO",
                                                                 "FUNCNAME"});
  return base::contains(kNames, name);
}

/// Slurm's variables that all processes of a job have alike.
bool is_of_job(std::string_view name) {
  return name.starts_with("SLURM_JOB") || name.starts_with("SLURM_SUBMIT") ||
         name.starts_with("SLURM_ARRAY");
}

}  // namespace

std::string ShellExpander::Value::text() const {
  std::string joined;
  for (size_t i = 0; i < items.size(); ++i) joined += (i == 0 ? "" : " ") + items[i].text;
  return joined;
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
  if (!is_shell_name_char(name.front()) || base::is_digit(name.front())) return special(name);
  if (const auto own = state_.variables.find(name);
      own != state_.variables.end() && !own->second.refers_to.empty()) {
    const std::string meant = meant_variable(state_, name);
    const auto last = state_.variables.find(meant);
    const bool circular = last != state_.variables.end() && !last->second.refers_to.empty();
    return circular ? Value() : value_of(meant, index, has_index);
  }
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
  else if (has_index && at >= count)
    value = behind_unknown(again->second.items);
  return value;
}

/// What stands behind the last item of a list: nothing, unless an item may be several.
ShellExpander::Value ShellExpander::behind_unknown(const std::vector<ShellText>& items) const {
  for (const ShellText& item : items)
    if (session_.unknowns.may_be_several(item.text)) return {true, {item}, false, false};
  return {};
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
    if (Value behind = behind_unknown(state_.arguments); behind.set) return behind;
    session_.unset.insert("$" + std::string(name));
    return {};
  }
  return from_outside(name);
}

ShellExpander::Value ShellExpander::from_outside(std::string_view name) {
  const auto unknown = [&](std::string reason) {
    return Value{true, {{session_.unknowns.mark(std::move(reason)), session_.line}}, false, false};
  };
  // `job.$$.sh` is the same file wherever a script names it.
  const auto unknown_of_run = [&](std::string reason) {
    const std::string of = name == "PWD" ? fmt::format("PWD {}", state_.folder) : std::string(name);
    const auto [mark, is_new] = session_.of_run.try_emplace(of);
    if (is_new) mark->second = session_.unknowns.mark(std::move(reason));
    if (name == "PWD" && state_.folder.empty()) state_.here = mark->second;
    return Value{true, {{mark->second, session_.line}}, false, false};
  };
  constexpr std::array kStays = std::to_array<std::string_view>(
      {"$", "PPID", "UID", "EUID", "USER", "LOGNAME", "HOME", "TMPDIR", "PWD"});
  if (name == "PIPESTATUS") return unknown("$PIPESTATUS, what the programs of a pipeline return");
  if (is_of_machine(name)) {
    std::string why = fmt::format("${}, which differs by machine", name);
    return base::contains(kStays, name) ? unknown_of_run(std::move(why)) : unknown(std::move(why));
  }
  const bool of_slurm = name.starts_with("SLURM_") || name.starts_with("SLURMD_");
  if (of_slurm && session_.is_batch) {
    std::string why = fmt::format("${}, which Slurm sets (give --env {}=VALUE)", name, name);
    return is_of_job(name) ? unknown_of_run(std::move(why)) : unknown(std::move(why));
  }
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

void ShellExpander::assign(std::string_view name, const ShellText& value, bool append) {
  const size_t bracket = name.find('[');
  ShellVariable& variable = state_.variables[meant_variable(state_, name.substr(0, bracket))];
  const bool integer = variable.integer;
  if (session_.given.contains(name) && !append && !variable.items.empty() &&
      variable.items.front().text != value.text && !ShellUnknowns::in(value.text))
    session_.overridden[std::string(name)] =
        fmt::format("{} at {}", value.text, session_.where(value.line));
  const auto put_in = [&](ShellText& slot) {
    if (integer) {
      const std::string sum = append && !slot.text.empty() ? slot.text + "+" : "";
      slot = {arithmetic(sum + "(" + value.text + ")"), value.line};
    } else if (append)
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

std::string ShellExpander::why_empty(std::string_view expression) const {
  for (size_t at = expression.find('$'); at != expression.npos; at = expression.find('$', at + 1)) {
    size_t begin = at + 1;
    if (begin < expression.size() && expression[begin] == '{') ++begin;
    size_t end = begin;
    while (end < expression.size() && is_shell_name_char(expression[end])) ++end;
    const std::string name(expression.substr(begin, end - begin));
    const auto it = state_.variables.find(name);
    if (it == state_.variables.end() && session_.unset.contains(name))
      return fmt::format("{}, which is not set (give --env {}=VALUE)", name, name);
    const bool empty = it != state_.variables.end() && it->second.items.size() == 1 &&
                       it->second.items.front().text.empty();
    if (empty && !session_.unset.empty())
      return fmt::format("{}, which is empty, for nobody sets {} (--env NAME=VALUE does)", name,
                         fmt::join(session_.unset, ", "));
  }
  return "";
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
  // A number is one word, whatever it is made of.
  if (value && ShellUnknowns::in(*value) && session_.unknowns.entry(*value).any_words)
    return session_.unknowns.mark(std::string(session_.unknowns.entry(*value).reason));
  if (!value) {
    // `$((10 % $JOB_ID))`: no expression because of a variable that whoever starts the script sets.
    if (const std::string why = why_empty(expression); !why.empty())
      return session_.unknowns.mark(why);
    session_.fail(value.error().message);
    return "";
  }
  return *value;
}

}  // namespace ergometer::intake
