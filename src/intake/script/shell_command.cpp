#include "intake/script/shell_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {

void ScriptRunner::redirect(const std::vector<ShellRedirection>& list, std::string& input,
                            bool& reads, std::string& target) {
  for (const ShellRedirection& redirection : list) {
    if (redirection.operation == "<<") {
      input = redirection.quoted
                  ? redirection.target.text
                  : expander_.document(redirection.target.text, redirection.target.line);
      reads = true;
    } else if (redirection.operation == "<<<") {
      input = expander_.text(redirection.target).text + "\n";
      reads = true;
    } else if (redirection.operation == "<") {
      input = text_of_file(expander_.text(redirection.target).text);
      reads = true;
    } else if (redirection.operation == ">&" && redirection.descriptor < 2 &&
               redirection.target.text == "2") {
      target = "/dev/stderr";
    } else if (redirection.operation.starts_with("&>")) {
      target = expander_.text(redirection.target).text;
    } else if (redirection.operation.starts_with('>') && redirection.operation != ">&" &&
               redirection.descriptor < 2) {
      target = expander_.text(redirection.target).text;
      if (redirection.operation != ">>" && !target.empty()) state_.files[target].clear();
    }
  }
}

void ScriptRunner::write(const std::string& target, const std::string& text) {
  constexpr size_t kLargestFile = 1'000'000;
  if (target.empty() || target == "/dev/null" || target == "/dev/stderr") return;
  std::string& file = state_.files[target];
  if (file.size() < kLargestFile) file += text;
}

std::string ScriptRunner::text_of_file(const std::string& path) {
  if (path == "/dev/null") return "";
  if (const std::string* written = written_file(state_, path)) return *written;
  const auto found = find_beside(path);
  if (found)
    if (auto text = base::read_file(*found, spec::kLargestWritten)) return *text;
  if (path.empty())
    return session_.unknowns.mark_words("a file whose name is empty (is its variable set?)") + "\n";
  return session_.unknowns.mark_words(fmt::format("the file {}, which is not here", path)) + "\n";
}

std::optional<std::string> ScriptRunner::find_beside(const std::string& path) const {
  const size_t slash = path.find('/');
  const std::string rest = slash == path.npos ? "" : path.substr(slash + 1);
  const bool starts_unknown = slash == 0 || ShellUnknowns::in(path.substr(0, slash));
  const std::filesystem::path script(session_.files.empty() ? "" : session_.files.front());
  for (const std::filesystem::path& full :
       {std::filesystem::path(state_.folder) / path, script.parent_path() / path,
        script.parent_path() / (starts_unknown ? rest : "")}) {
    std::error_code ignored;
    if (ShellUnknowns::in(full.string()) || path.empty()) continue;
    if (std::filesystem::is_regular_file(full, ignored)) return full.lexically_normal().string();
  }
  return std::nullopt;
}

Flow ScriptRunner::run_simple(const ShellNode& node, Streams streams) {
  Words words = expander_.fields(node.words);
  if (stopped()) return Flow::kExit;
  session_.line = node.line;
  words = without_alias(node, std::move(words));
  if (stopped()) return Flow::kExit;
  std::string input, output, target;
  bool reads = false;
  redirect(node.redirections, input, reads, target);
  if (stopped()) return Flow::kExit;
  const bool declares = !words.empty() && is_declaration(words.front().text);
  if (declares && words.front().text == "local" && locals_.empty()) {
    // bash says that it can only be used in a function, and sets nothing.
    if (state_.stops_at_error)
      session_.fail("`local` outside a function, at which the script ends under set -e");
    state_.status = 1;
    return stopped() ? Flow::kExit : Flow::kNext;
  }
  if (words.empty() || declares) {
    // The status is that of the last substitution in them, of which there may be none.
    const int64_t before = substitutions_;
    for (const ShellAssignment& assignment : node.assignments)
      assign(assignment, declares ? words : Words());
    if (declares || substitutions_ == before) state_.status = 0;
    if (declares) declare(words, node.assignments);
    if (node.assignments.empty() && words.empty() && !node.redirections.empty()) write(target, "");
    return stopped() ? Flow::kExit : Flow::kNext;
  }
  // NAME=value in front of a command holds for that command.
  std::map<std::string, std::optional<ShellVariable>> kept;
  for (const ShellAssignment& assignment : node.assignments) {
    const auto it = state_.variables.find(assignment.name);
    kept.emplace(assignment.name,
                 it == state_.variables.end() ? std::nullopt : std::optional(it->second));
    assign(assignment, {});
    state_.variables[assignment.name].exported = true;
  }
  const Flow flow =
      run_words(words, {reads ? &input : streams.input, target.empty() ? streams.output : &output});
  for (auto& [name, variable] : kept) {
    if (variable)
      state_.variables[name] = std::move(*variable);
    else
      state_.variables.erase(name);
  }
  write(target, output);
  return stopped() ? Flow::kExit : flow;
}

bool ScriptRunner::is_declaration(std::string_view word) {
  return word == "export" || word == "local" || word == "declare" || word == "typeset" ||
         word == "readonly";
}

void ScriptRunner::assign(const ShellAssignment& assignment, const Words& declaration) {
  if (!declaration.empty() && declaration.front().text == "local") keep_local(assignment.name);
  bool is_map = false;
  for (const ShellText& word : declaration) {
    if (!word.text.starts_with('-')) continue;
    is_map = is_map || base::contains(word.text, "A");
    if (word.text.find_first_of("lu") != word.text.npos)
      session_.fail(
          fmt::format("declare {} is not followed; ${{NAME,,}} and ${{NAME^^}} are", word.text));
    if (base::contains(word.text, "i")) state_.variables[assignment.name].integer = true;
    // What it referred to before does not get the new name.
    if (base::contains(word.text, "n")) state_.variables[assignment.name].refers_to.clear();
  }
  if (assignment.is_array) return assign_array(assignment, is_map);
  const ShellText value = expander_.text(assignment.value);
  expander_.assign(
      assignment.has_index ? assignment.name + "[" + assignment.index + "]" : assignment.name,
      value, assignment.append);
}

void ScriptRunner::assign_array(const ShellAssignment& assignment, bool is_map) {
  std::vector<std::pair<std::string, RawWord>> keyed;
  std::vector<RawWord> plain;
  for (const RawWord& item : assignment.items) {
    const size_t close = item.text.starts_with('[') ? item.text.find("]=") : item.text.npos;
    if (close == item.text.npos)
      plain.push_back(item);
    else
      keyed.emplace_back(item.text.substr(1, close - 1),
                         RawWord{item.text.substr(close + 2), item.line});
  }
  Words items = expander_.fields(plain);
  ShellVariable& variable = state_.variables[meant_variable(state_, assignment.name)];
  if (!assignment.append) {
    variable.items.clear();
    variable.entries.clear();
    variable.kind = is_map ? ShellVariable::Kind::kMap : ShellVariable::Kind::kList;
  }
  is_map = variable.kind == ShellVariable::Kind::kMap;
  if (!is_map) variable.kind = ShellVariable::Kind::kList;
  constexpr size_t kLongestList = 20'000;
  if (variable.items.size() + items.size() < kLongestList)
    variable.items.insert(variable.items.end(), items.begin(), items.end());
  for (const auto& [index, raw] : keyed) {
    const ShellText value = expander_.text(raw);
    expander_.assign(assignment.name + "[" + index + "]", value);
  }
}

void ScriptRunner::declare(const Words& words, const std::vector<ShellAssignment>& assignments) {
  bool exports = words.front().text == "export", map = false, list = false, refers = false;
  const bool local = words.front().text == "local";
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word.starts_with('-')) {
      exports = exports || base::contains(word, "x");
      map = map || base::contains(word, "A");
      list = list || base::contains(word, "a");
      refers = refers || base::contains(word, "n");
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (ShellUnknowns::in(name) && state_.missing_source.empty())
      state_.missing_source = session_.unknowns.entry(name).reason;
    if (name.empty() || ShellUnknowns::in(name)) continue;
    if (local) keep_local(name);
    if (equals != word.npos) {
      expander_.assign(name, {word.substr(equals + 1), words[i].line});
    } else if (local || map || list) {
      ShellVariable& variable = state_.variables[name];
      if (local) variable = {};
      if (map) variable.kind = ShellVariable::Kind::kMap;
      if (list && !map) variable.kind = ShellVariable::Kind::kList;
    }
    if (exports) export_name(name);
  }
  for (const ShellAssignment& assignment : assignments) {
    if (exports) export_name(assignment.name);
    if (refers && words.front().text != "export") refer(assignment.name);
  }
}

void ScriptRunner::refer(const std::string& name) {
  ShellVariable& variable = state_.variables[name];
  const std::string target = variable.items.empty() ? "" : variable.items.front().text;
  const bool plain = !target.empty() && std::ranges::all_of(target, is_shell_name_char);
  if (!plain || target == name)
    session_.fail(fmt::format("declare -n {}: found \"{}\"; allowed: another variable's name", name,
                              target.substr(0, 60)));
  variable.refers_to = target;
}

void ScriptRunner::export_name(const std::string& name) {
  const auto it = state_.variables.find(name);
  if (it != state_.variables.end()) it->second.exported = true;
}

void ScriptRunner::keep_local(const std::string& name) {
  if (locals_.empty()) return;
  const auto it = state_.variables.find(name);
  locals_.back().emplace(name,
                         it == state_.variables.end() ? std::nullopt : std::optional(it->second));
}

Flow ScriptRunner::run_words(const Words& words, Streams streams) {
  const auto it = state_.functions.find(words.front().text);
  return it == state_.functions.end() ? run_beside_functions(words, streams)
                                      : call(it->second, words, streams);
}

/// What a line means to a shell that expands aliases: of its first word, as it is written, alone.
/// `\torchrun`, `$LAUNCHER` and `exec torchrun` are the program.
ScriptRunner::Words ScriptRunner::without_alias(const ShellNode& node, Words words) {
  if (!state_.expands_aliases || node.words.empty() || words.empty()) return words;
  const auto alias = state_.aliases.find(node.words.front().text);
  if (alias == state_.aliases.end()) return words;
  Words meant = alias_words(alias->second, words);
  if (meant.empty())
    session_.fail(fmt::format("{} is an alias, which is not followed; write out what it stands for",
                              alias->first));
  return meant;
}

/// Plain words in place of the first one. Nothing where they are more than that to the shell: it
/// reads an alias as a part of the line, and behind a blank at its end looks for the next one.
ScriptRunner::Words ScriptRunner::alias_words(const std::string& text, const Words& words) const {
  Words meant;
  for (const std::string& part : base::split(text, ' '))
    if (!part.empty()) meant.push_back({part, words.front().line});
  const bool plain = text.find_first_of("$`'\"\\;&|<>(){}*?[~#\t\n\x01") == text.npos;
  if (!plain || meant.empty() || base::contains(meant.front().text, "=")) return {};
  const std::string& first = meant.front().text;
  if (first != words.front().text && state_.aliases.contains(first)) return {};
  if (text.ends_with(' ') && words.size() > 1 && state_.aliases.contains(words[1].text)) return {};
  meant.insert(meant.end(), words.begin() + 1, words.end());
  return meant;
}

Flow ScriptRunner::run_beside_functions(const Words& words, Streams streams) {
  const std::string name = words.front().text;
  if (const auto flow = run_builtin(name, words, streams)) return *flow;
  if (const auto flow = run_reader(name, words, streams)) return *flow;
  return run_program(words, streams);
}

Flow ScriptRunner::call(const ShellTree& body, const Words& words, Streams streams) {
  // The function may define itself anew.
  const ShellTree kept_body = body;  // NOLINT(performance-unnecessary-copy-initialization)
  if (++calls_ > kDeepestCall) session_.fail("calls nest deeper than 60");
  Words arguments(words.begin() + 1, words.end());
  std::swap(arguments, state_.arguments);
  locals_.emplace_back();
  const Flow flow = stopped()
                        ? Flow::kExit
                        : leave_perhaps(Flow::kReturn, [&] { return run(*kept_body, streams); });
  for (auto& [name, variable] : locals_.back()) {
    if (variable)
      state_.variables[name] = std::move(*variable);
    else
      state_.variables.erase(name);
  }
  locals_.pop_back();
  state_.arguments = std::move(arguments);
  --calls_;
  return flow == Flow::kExit ? flow : Flow::kNext;
}

}  // namespace ergometer::intake
