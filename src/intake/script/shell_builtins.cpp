#include "intake/script/shell_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "intake/programs/shell_utilities.h"
#include "intake/shell/shell_condition.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {

int64_t ScriptRunner::count_of(const Words& words, int64_t fallback) {
  const auto number =
      words.size() > 1 ? base::parse_integer(words[1].text) : Result<int64_t>(fallback);
  return number ? *number : fallback;
}

std::vector<ShellText> ScriptRunner::behind(const Words& words, size_t at) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end()};
}

std::optional<Flow> ScriptRunner::run_leaving(const std::string& name, const Words& words) {
  if (name == "exit") {
    session_.exit_line = session_.line;
    state_.status = static_cast<int>(count_of(words, 0) & 255);
    return Flow::kExit;
  }
  if (name == "return") {
    // `return` alone keeps the status.
    if (words.size() > 1) state_.status = static_cast<int>(count_of(words, 0) & 255);
    return Flow::kReturn;
  }
  if (name == "break" || name == "continue") {
    levels_ = count_of(words, 1);
    return name == "break" ? Flow::kBreak : Flow::kContinue;
  }
  return std::nullopt;
}

void ScriptRunner::change_folder(const std::string& target) {
  if (ShellUnknowns::in(target) || target.starts_with('/'))
    state_.folder = target;
  else if (!target.empty() && target != "-")
    state_.folder = (std::filesystem::path(state_.folder) / target).lexically_normal().string();
}

std::string ScriptRunner::folder_text() const {
  if (ShellUnknowns::in(state_.folder)) return state_.folder;
  std::error_code ignored;
  const std::string folder = state_.folder.empty() ? "." : state_.folder;
  return std::filesystem::weakly_canonical(folder, ignored).string();
}

Flow ScriptRunner::print(std::string_view text, int status, Streams streams) {
  *streams.output += text;
  state_.status = status;
  return Flow::kNext;
}

std::optional<Flow> ScriptRunner::run_builtin(const std::string& name, const Words& words,
                                              Streams streams) {
  const auto done = [&](int status = 0) {
    state_.status = status;
    return Flow::kNext;
  };
  if (name == "wait") {
    // Of several it may be any one that ends.
    if (words.size() < 2 || words[1].text != "-n") ++waits_;
    return done();
  }
  if (name == ":" || name == "true" || name == "ulimit" || name == "umask" || name == "sleep" ||
      name == "chmod" || name == "popd")
    return done();
  if (name == "alias") {
    for (const ShellText& word : behind(words, 1))
      if (const size_t equals = word.text.find('='); equals != word.text.npos)
        state_.aliases[word.text.substr(0, equals)] = word.text.substr(equals + 1);
    return done();
  }
  if (name == "unalias") {
    for (const ShellText& word : behind(words, 1)) state_.aliases.erase(word.text);
    return done();
  }
  if (name == "false") return done(1);
  if (name == "trap") return run_trap(words), done();
  if (name == "shopt") return run_shopt(words), done();
  if (name == "test" || name == "[") {
    Words tested = behind(words, 1);
    if (name == "[" && !tested.empty() && tested.back().text == "]") tested.pop_back();
    const auto answer = shell_test(tested, expander_, session_.unknowns, state_);
    state_.status = !answer ? kUnknownStatus : *answer ? 0 : 1;
    reason_ = answer ? "" : reason_of(words);
    return Flow::kNext;
  }
  if (const auto flow = run_leaving(name, words)) return flow;
  if (name == "cd" || name == "pushd") {
    change_folder(words.size() > 1 ? words.back().text : "");
    return done();
  }
  if (name == "pwd") return print(folder_text() + "\n", 0, streams);
  if (name == "shift") {
    const auto count = static_cast<size_t>(std::max<int64_t>(0, count_of(words, 1)));
    if (count > state_.arguments.size()) return done(1);
    state_.arguments = behind(state_.arguments, count);
    return done();
  }
  if (name == "set") return run_set(words), done();
  if (name == "unset") {
    for (const ShellText& word : behind(words, 1)) unset(word.text);
    return done();
  }
  if (name == "let") {
    std::string value = "0";
    for (const ShellText& word : behind(words, 1)) value = expander_.arithmetic(word.text);
    return done(value == "0" ? 1 : 0);
  }
  if (name == "printf" && words.size() > 3 && words[1].text == "-v") {
    expander_.assign(words[2].text,
                     {shell_printf(words, words[3].text == "--" ? 4 : 3), session_.line});
    return done();
  }
  return std::nullopt;
}

void ScriptRunner::run_trap(const Words& words) {
  size_t at = 1;
  if (at < words.size() && words[at].text == "--") ++at;
  if (at >= words.size() || words[at].text == "-p" || words[at].text == "-l") return;
  const bool resets = words[at].text == "-" || at + 1 == words.size();
  const std::string text = resets ? "" : words[at].text;
  for (const ShellText& word : behind(words, at))
    if (word.text == "EXIT" || word.text == "0") state_.exit_trap = text;
}

void ScriptRunner::run_shopt(const Words& words) {
  bool sets = false, clears = false;
  for (const ShellText& word : behind(words, 1)) {
    sets = sets || word.text == "-s";
    clears = clears || word.text == "-u";
    if (word.text == "nullglob" && (sets || clears)) state_.null_globs = sets;
    if (word.text == "lastpipe" && (sets || clears)) state_.last_pipes = sets;
    if (word.text == "expand_aliases" && (sets || clears)) state_.expands_aliases = sets;
    if (word.text == "nocasematch" && (sets || clears)) state_.any_case = sets;
  }
}

void ScriptRunner::unset(const std::string& name) {
  const size_t bracket = name.find('[');
  if (bracket == name.npos) {
    state_.variables.erase(name);
    state_.functions.erase(name);
    return;
  }
  const auto it = state_.variables.find(name.substr(0, bracket));
  if (it == state_.variables.end() || !name.ends_with(']')) return;
  const std::string index = name.substr(bracket + 1, name.size() - bracket - 2);
  if (it->second.kind == ShellVariable::Kind::kMap) {
    it->second.entries.erase(index);
    return;
  }
  const auto at = base::parse_integer(expander_.arithmetic(index));
  if (!at || *at < 0)
    session_.fail(fmt::format("unset {}: the index is not known", name));
  else if (static_cast<size_t>(*at) < it->second.items.size())
    it->second.items[static_cast<size_t>(*at)] = {std::string(kUnsetItem), 0};
}

void ScriptRunner::run_set(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "-a") state_.exports_all = true;
    if (word == "+a") state_.exports_all = false;
    const bool on = word.starts_with('-'), letters = word.size() > 1 && (on || word[0] == '+');
    if (letters && word[1] != '-') {
      const std::string option =
          word.ends_with('o') && i + 1 < words.size() ? words[i + 1].text : "";
      if (base::contains(word, "f") || option == "noglob") state_.no_globs = on;
      if (base::contains(word, "e") || option == "errexit") state_.stops_at_error = on;
    }
    if (word == "--") {
      state_.arguments = behind(words, i + 1);
      return;
    }
    // `set -euo pipefail`: the last letter takes a word.
    if ((word.starts_with('-') || word.starts_with('+')) && word.ends_with('o'))
      ++i;
    else if (!word.starts_with('-') && !word.starts_with('+')) {
      state_.arguments = behind(words, i);
      return;
    }
  }
}

std::string ScriptRunner::reason_of(const Words& words) {
  std::string text;
  for (const ShellText& word : words)
    text += (text.empty() ? "" : " ") + (ShellUnknowns::in(word.text) ? "?" : word.text);
  return text;
}

std::optional<Flow> ScriptRunner::run_reader(const std::string& name, const Words& words,
                                             Streams streams) {
  if (name == "eval") {
    std::string text;
    for (const ShellText& word : behind(words, 1)) text += (text.empty() ? "" : " ") + word.text;
    return run_inner(text, streams);
  }
  if (name == "source" || name == ".") return run_source(words, streams);
  if (name == "read") return run_read(words, streams);
  if (name == "mapfile" || name == "readarray") return run_mapfile(words, streams);
  if (name == "exec" && words.size() == 1) return Flow::kNext;
  if (name == "exec" || name == "nohup" || name == "builtin" || name == "nice") {
    const Flow flow = run_words(behind(words, 1), streams);
    if (name == "exec") state_.exit_trap.clear();  // the shell is gone
    return name == "exec" && flow == Flow::kNext ? Flow::kExit : flow;
  }
  if (name == "command") {
    // command -v asks whether a program is there.
    if (words.size() > 1 && !words[1].text.starts_with('-'))
      return run_beside_functions(behind(words, 1), streams);
    reason_ = reason_of(words);
    return print(session_.unknowns.mark(reason_) + "\n", kUnknownStatus, streams);
  }
  if (name == "cat" || name == "tee") return run_cat(words, streams);
  if (name == "grep" || name == "sed" || name == "awk" || name == "jq" || name == "yq") {
    const auto text_of = [this](const std::string& path) { return text_of_file(path); };
    std::optional<UtilityResult> result;
    if (name == "sed" || name == "awk")
      result = shell_around_lines(words, *streams.input, text_of, session_.unknowns);
    if (!result) result = shell_filter(words, *streams.input, text_of);
    if (result) return print(result->output, result->status, streams);
  }
  if (name == "xargs") return run_xargs(words, streams);
  if (name == "getopts") return run_getopts(words);
  return std::nullopt;
}

Flow ScriptRunner::run_source(const Words& words, Streams streams) {
  state_.status = 0;
  if (words.size() < 2) return Flow::kNext;
  const std::string& path = words[1].text;
  if (const std::string* written = written_file(state_, path))
    return run_inner(std::string(*written), streams);
  if (const auto found = find_beside(path)) {
    const auto text = base::read_file(*found, spec::kLargestWritten);
    if (!text) {
      session_.fail(text.error().message);
      return Flow::kExit;
    }
    const Flow flow =
        leave_perhaps(Flow::kReturn, [&] { return run_file(*text, *found, streams); });
    return flow == Flow::kReturn ? Flow::kNext : flow;
  }
  // Virtual environments and modules set paths of programs and nothing of the job.
  constexpr std::array kHarmless = std::to_array<std::string_view>(
      {"/activate", "/conda.sh", ".bashrc", "/bashrc", ".bash_profile", ".profile", "/etc/profile",
       "/profile", "/modules.sh", "/lmod.sh", "/init/bash", "/init/sh", "/oneapi/setvars.sh",
       "/ascend-toolkit/set_env.sh"});
  for (const std::string_view end : kHarmless)
    if (path.ends_with(end)) return Flow::kNext;
  if (state_.missing_source.empty())
    state_.missing_source = ShellUnknowns::in(path)
                                ? fmt::format("the file read at {}", session_.where(session_.line))
                                : path;
  return Flow::kNext;
}

Flow ScriptRunner::run_read(const Words& words, Streams streams) {
  std::vector<std::string> names;
  bool list = false, whole = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "-d" && i + 1 < words.size() && words[i + 1].text.empty()) whole = true;
    if (word == "-d" || word == "-p" || word == "-n" || word == "-t" || word == "-u")
      ++i;
    else if (word.starts_with('-'))
      list = list || base::contains(word, "a");
    else
      names.push_back(word);
  }
  if (streams.input->empty()) {
    state_.status = 1;
    return Flow::kNext;
  }
  const size_t end =
      whole ? streams.input->size() : std::min(streams.input->find('\n'), streams.input->size());
  std::string line = streams.input->substr(0, end);
  while (whole && line.ends_with('\n')) line.pop_back();
  streams.input->erase(0, end + 1);
  const std::string separators = expander_.separators();
  Words parts;
  size_t at = 0;
  while (at < line.size()) {
    const size_t begin = line.find_first_not_of(separators, at);
    if (begin == line.npos) break;
    const bool rest = !list && parts.size() + 1 >= names.size();
    const size_t stop =
        rest ? line.size() : std::min(line.find_first_of(separators, begin), line.size());
    parts.push_back({line.substr(begin, stop - begin), session_.line});
    at = stop;
  }
  if (list && !names.empty()) {
    state_.variables[names.front()] = {ShellVariable::Kind::kList, parts, {}, false};
  } else {
    if (names.empty()) names.emplace_back("REPLY");
    // What is one unknown text may be several words.
    const bool several = !parts.empty() && session_.unknowns.may_be_several(parts.back().text);
    const ShellText rest = several ? parts.back() : ShellText{"", session_.line};
    for (size_t i = 0; i < names.size(); ++i)
      expander_.assign(names[i], i < parts.size() ? parts[i] : rest);
  }
  state_.status = whole ? 1 : 0;  // the end it looks for is not there
  return Flow::kNext;
}

namespace {

/// What xargs is told; texts are empty where nothing is said.
struct XargsOptions {
  std::string file, name, count, lines, beside, delimiter;
  bool needs_items = false;
  size_t command = 1;  ///< where the command begins
};

XargsOptions xargs_options(const std::vector<ShellText>& words) {
  XargsOptions told;
  size_t& at = told.command;
  const auto takes = [&](std::string_view option, std::string& target) {
    const std::string& word = words[at].text;
    if (!word.starts_with(option)) return false;
    const std::string rest = word.substr(option.size());
    const bool is_long = option.starts_with("--");
    if (rest.empty() && at + 1 < words.size())
      target = words[++at].text;
    else if (!rest.empty() && (!is_long || rest.front() == '='))
      target = rest.substr(is_long ? 1 : 0);
    else
      return false;
    return true;
  };
  for (; at < words.size() && words[at].text.starts_with('-'); ++at) {
    const std::string& word = words[at].text;
    if (word == "-i" || word == "--replace")
      told.name = "{}";
    else if (word == "-r" || word == "--no-run-if-empty")
      told.needs_items = true;
    else if (!takes("-a", told.file) && !takes("--arg-file", told.file) &&
             !takes("-I", told.name) && !takes("--replace", told.name) &&
             !takes("-n", told.count) && !takes("--max-args", told.count) &&
             !takes("-L", told.lines) && !takes("--max-lines", told.lines) &&
             !takes("-P", told.beside) && !takes("--max-procs", told.beside) &&
             !takes("-d", told.delimiter))
      takes("--delimiter", told.delimiter);
  }
  return told;
}

/// The words that are put behind the command at a time, or the line in place of a name.
std::vector<std::vector<std::string>> xargs_groups(const std::string& input,
                                                   const XargsOptions& told) {
  const bool by_line = told.delimiter.empty() || told.delimiter == "\\n";
  const bool whole = !told.name.empty() || !told.delimiter.empty();
  const int64_t most = told.name.empty() ? base::parse_integer(told.count).value_or(0) : 1;
  const int64_t of_lines = base::parse_integer(told.lines).value_or(0);
  std::vector<std::vector<std::string>> groups;
  int64_t lines = 0;
  for (const std::string& line : base::split(input, by_line ? '\n' : told.delimiter.front())) {
    if (line.find_first_not_of(" \t\n") == line.npos) continue;
    bool is_next = groups.empty() || (of_lines > 0 && lines % of_lines == 0);
    ++lines;
    for (const std::string& part : whole ? std::vector{line} : base::split(line, ' ')) {
      if (part.find_first_not_of(" \t") == part.npos) continue;
      if (is_next || (most > 0 && std::ssize(groups.back()) >= most)) groups.emplace_back();
      is_next = false;
      groups.back().push_back(part.substr(0, part.find_last_not_of('\n') + 1));
    }
  }
  return groups;
}

}  // namespace

/// xargs [-a FILE] [-I NAME] [-n COUNT] [-L LINES] [-d DELIMITER] [-P COUNT] ... COMMAND
Flow ScriptRunner::run_xargs(const Words& words, Streams streams) {
  const XargsOptions told = xargs_options(words);
  Words command = behind(words, told.command);
  if (command.empty()) command.push_back({"echo", session_.line});
  const std::string input = told.file.empty() ? *streams.input : text_of_file(told.file);
  if (told.file.empty()) streams.input->clear();
  auto groups = xargs_groups(input, told);
  // Without items the command runs once as it stands.
  if (groups.empty() && told.name.empty() && !told.needs_items) groups.emplace_back();
  const bool apart = !told.beside.empty() && told.beside != "1";
  const int around = std::exchange(aside_, apart ? ShellCommand::kBesideAll : aside_);
  Flow flow = Flow::kNext;
  for (const std::vector<std::string>& group : groups) {
    if (flow != Flow::kNext || stopped()) break;
    Words one = command;
    if (told.name.empty())
      for (const std::string& item : group) one.push_back({item, session_.line});
    else
      for (ShellText& word : one)
        for (size_t place = word.text.find(told.name); place != word.text.npos;
             place = word.text.find(told.name, place + group.front().size()))
          word.text.replace(place, told.name.size(), group.front());
    flow = run_words(one, streams);
  }
  aside_ = around;
  return flow;
}

Flow ScriptRunner::run_mapfile(const Words& words, Streams streams) {
  Words lines;
  for (const std::string& line : base::split(*streams.input, '\n'))
    lines.push_back({line, session_.line});
  if (!lines.empty() && lines.back().text.empty()) lines.pop_back();
  streams.input->clear();
  const std::string name =
      words.size() > 1 && !words.back().text.starts_with('-') ? words.back().text : "MAPFILE";
  state_.variables[name] = {ShellVariable::Kind::kList, std::move(lines), {}, false};
  state_.status = 0;
  return Flow::kNext;
}

Flow ScriptRunner::run_cat(const Words& words, Streams streams) {
  std::string text;
  std::vector<std::string> paths;
  for (const ShellText& word : behind(words, 1))
    if (!word.text.starts_with('-') || word.text == "-") paths.push_back(word.text);
  if (words.front().text == "cat" && !paths.empty()) {
    for (const std::string& path : paths) text += path == "-" ? *streams.input : text_of_file(path);
  } else {
    text = std::move(*streams.input);
    streams.input->clear();
  }
  if (words.front().text == "tee")
    for (const std::string& path : paths) {
      state_.files[path].clear();
      write(path, text);
    }
  return print(text, 0, streams);
}

Flow ScriptRunner::run_getopts(const Words& words) {
  state_.status = 1;
  if (words.size() < 3) return Flow::kNext;
  const auto kept = state_.variables.find("OPTIND");
  const auto number = kept == state_.variables.end() || kept->second.items.empty()
                          ? Result<int64_t>(1)
                          : base::parse_integer(kept->second.items.front().text);
  const auto at = static_cast<size_t>(number ? std::max<int64_t>(*number, 1) : 1);
  if (kept == state_.variables.end()) expander_.assign("OPTIND", {"1", session_.line});
  if (at > state_.arguments.size()) return Flow::kNext;
  const std::string word = state_.arguments[at - 1].text;
  if (word.size() < 2 || word[0] != '-' || word == "--") return Flow::kNext;
  // -rsp 2: one letter after the other.
  const size_t letter = std::min(std::max<size_t>(option_letter_, 1), word.size() - 1);
  const size_t found = words[1].text.find(word[letter]);
  const bool takes = found != std::string::npos && words[1].text.substr(found + 1, 1) == ":";
  const bool last = takes || letter + 1 >= word.size();
  option_letter_ = last ? 1 : letter + 1;
  size_t next = last ? at + 1 : at;
  if (takes) {
    const bool joined = word.size() > letter + 1;
    const std::string value = joined                         ? word.substr(letter + 1)
                              : at < state_.arguments.size() ? state_.arguments[at].text
                                                             : "";
    expander_.assign("OPTARG", {value, session_.line});
    if (!joined) ++next;
  }
  expander_.assign(words[2].text, {found == std::string::npos ? "?" : std::string(1, word[letter]),
                                   session_.line});
  expander_.assign("OPTIND", {std::to_string(next), session_.line});
  state_.status = 0;
  return Flow::kNext;
}

}  // namespace ergometer::intake
