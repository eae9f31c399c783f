#include "base/collection.h"
#include "intake/script/shell_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "intake/programs/launcher_options.h"
#include "intake/programs/shell_hosts.h"
#include "intake/programs/shell_utilities.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

/// The one file that a filter of lines reads; empty: its input.
std::string file_of_filter(const std::vector<ShellText>& words) {
  constexpr std::array kFilters =
      std::to_array<std::string_view>({"head", "tail", "cut", "sort", "uniq"});
  if (words.size() < 2 || !base::contains(kFilters, words.front().text)) return "";
  const std::string& last = words.back().text;
  const std::string& before = words[words.size() - 2].text;
  const bool value = before.size() == 2 && base::contains("-n -d -f -c -k -t", before);
  const bool takes_word = value && words.front().text != "sort";
  return last.empty() || last.starts_with('-') || takes_word ? "" : last;
}

/// Programs that queue a script, which gets nodes of its own when its turn comes.
bool is_queue(std::string_view program) {
  return base::contains(std::to_array<std::string_view>({"sbatch", "qsub", "bsub"}), program);
}

/// Programs that go on while what they started runs, or run several texts at a time.
bool runs_beside(std::string_view program) {
  return base::contains(std::to_array<std::string_view>({"tmux", "screen", "parallel"}), program);
}

}  // namespace

Flow ScriptRunner::run_program(const Words& words, Streams streams) {
  if (const auto several = commands_of_tmux(words); !several.empty()) {
    for (const Words& one : several) run_program(one, streams);
    return Flow::kNext;
  }
  if (const auto inner = inner_shell(words); inner && calls_ < kDeepestCall)
    return run_inner_shell(words, *inner, streams);
  const std::string& program = words.front().text;
  if (program == "env")
    if (const auto flow = run_env(words, streams)) return *flow;
  if (program == "sed" && words.size() > 2 && words[1].text.starts_with("-i")) edit_in_place(words);
  if (const auto result = output_of(words, *streams.input))
    return print(result->output, result->status, streams);
  record(words);
  reason_ = reason_of(words).substr(0, 60);
  // Of a pipeline the first program is the reason.
  const std::string reason =
      ShellUnknowns::in(*streams.input)
          ? session_.unknowns.entry(*streams.input).reason
          : fmt::format("$({}) at {}", reason_, session_.where(session_.line));
  return print((prints_one_word(program) ? session_.unknowns.mark_lines(reason)
                                         : session_.unknowns.mark_words(reason)) +
                   "\n",
               kUnknownStatus, streams);
}

std::optional<Flow> ScriptRunner::run_env(const Words& words, Streams streams) {
  size_t at = 1;
  while (at < words.size() &&
         (words[at].text.starts_with('-') || base::contains(words[at].text, "=")))
    ++at;
  if (at >= words.size()) return std::nullopt;
  Flow flow = Flow::kNext;
  in_copy(streams, [&] {
    set_exported(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at)), state_);
    flow = run_words(behind(words, at), streams);
  });
  return flow;
}

std::optional<UtilityResult> ScriptRunner::output_of(const Words& words, const std::string& input) {
  const std::string& program = words.front().text;
  if (program == "scontrol" && reason_of(words).starts_with("scontrol show hostname"))
    if (const std::string names = host_names(); !names.empty()) return UtilityResult{names, 0};
  if (program == "envsubst") return UtilityResult{with_environment(words, input), 0};
  // Where a launcher lies matters to nobody: it is there, for it starts the job.
  if (program == "which" && words.size() == 2 && is_launcher(words[1].text))
    return UtilityResult{words[1].text + "\n", 0};
  // `head -n 1 FILE`: the file in place of the input.
  if (const std::string path = file_of_filter(words); !path.empty())
    if (auto result =
            shell_utility(Words(words.begin(), words.end() - 1), text_of_file(path), session_))
      return result;
  return shell_utility(words, input, session_);
}

/// `sed -i s/a/b/ FILE`; what is more than plain texts leaves a file that nobody knows.
void ScriptRunner::edit_in_place(const Words& words) {
  const std::string& path = words.back().text;
  Words plain = {words.front()};
  for (const ShellText& word : behind(words, 2)) plain.push_back(word);
  const auto edited =
      shell_filter(plain, "", [this](const std::string& file) { return text_of_file(file); });
  std::string text = edited
                         ? edited->output
                         : session_.unknowns.mark(fmt::format("{}, which sed changes at {}", path,
                                                              session_.where(session_.line)));
  // By the spelling that it was written under.
  const std::string* before = written_file(state_, path);
  for (auto& [name, written] : state_.files)
    if (&written == before) {
      written = std::move(text);
      return;
    }
  state_.files[path] = std::move(text);
}

/// A text with $NAME and ${NAME} replaced by what is exported, of all names or those of a word
/// ('$A $B').
std::string ScriptRunner::with_environment(const Words& words, const std::string& text) {
  const std::string names = words.size() > 1 ? words[1].text : "";
  std::string made;
  for (size_t at = 0; at < text.size();) {
    const bool braces = text.compare(at, 2, "${") == 0;
    const size_t begin = at + (braces ? 2 : 1);
    size_t end = begin;
    while (end < text.size() && is_shell_name_char(text[end])) ++end;
    const bool closed = !braces || text.compare(end, 1, "}") == 0;
    const std::string name = text.substr(begin, end - begin);
    if (text[at] != '$' || name.empty() || !closed ||
        (!names.empty() && !base::contains(names, name))) {
      made += text[at++];
      continue;
    }
    const auto it = state_.variables.find(name);
    const bool known = it != state_.variables.end() && it->second.exported;
    if (known && !it->second.items.empty()) made += it->second.items.front().text;
    if (!known) session_.unset.insert(name);
    at = end + (braces ? 1 : 0);
  }
  session_.expanded += static_cast<int64_t>(made.size());
  return made;
}

bool ScriptRunner::prints_one_word(std::string_view program) {
  constexpr std::array kPrograms = std::to_array<std::string_view>(
      {"bc",       "awk",  "python", "python3",  "wc",    "nproc", "expr", "nvidia-smi",
       "rocm-smi", "head", "tail",   "hostname", "uname", "id",    "git",  "stat",
       "du",       "sort", "srun",   "ip",       "shuf",  "cut"});
  return base::contains(kPrograms, program);
}

std::string ScriptRunner::host_names() {
  const auto it = state_.variables.find("SLURM_JOB_NUM_NODES");
  if (it == state_.variables.end() || it->second.items.empty()) return "";
  const auto count = base::parse_integer(it->second.items.front().text);
  constexpr int64_t kMostNodes = 20'000;
  if (!count || *count < 1 || *count > kMostNodes) return "";
  std::string names;
  for (int64_t i = 0; i < *count; ++i) names += host_name_mark(session_.unknowns) + "\n";
  return names;
}

/// Of a command behind all that are kept: the same as a kept one is that one again, and what trains
/// nothing is not looked for.
void ScriptRunner::check_is_kept(const ShellCommand& command) {
  const auto is_same = [&](const ShellCommand& kept) {
    return std::ranges::equal(kept.words, command.words, {}, &ShellText::text, &ShellText::text);
  };
  const auto launch = launch_of(command, run_);
  if (!launch || std::any_of(run_.commands.rbegin(), run_.commands.rend(), is_same)) return;
  session_.fail(fmt::format("{} is started behind {} other programs, more than are followed",
                            launch->name, ShellRun::kMostCommands));
}

void ScriptRunner::record(const Words& words) {
  ShellCommand command;
  for (const Words& around : contexts_)
    command.words.insert(command.words.end(), around.begin(), around.end());
  command.around = command.words.size();
  command.words.insert(command.words.end(), words.begin(), words.end());
  if (run_.commands.size() >= ShellRun::kMostCommands) return check_is_kept(command);
  command.line = session_.line;
  command.is_remote = remote_ > 0;
  command.aside = aside_;
  command.waits = waits_;
  command.batch = batch_;
  // Whole texts that were exported for what a script does itself are not kept for every program.
  constexpr size_t kLongestValue = 1'000;
  constexpr int64_t kMostKept = 16'000'000;
  for (const auto& [name, variable] : state_.variables) {
    if (!variable.exported || variable.items.size() != 1) continue;
    const std::string& value = variable.items.front().text;
    if (value.size() > kLongestValue || environments_ > kMostKept) continue;
    environments_ += static_cast<int64_t>(name.size() + value.size());
    command.environment[name] = value;
  }
  if (!conditions_.empty()) command.depends_on = conditions_.back();
  run_.commands.push_back(std::move(command));
}

/// `curl -LsSf https://astral.sh/uv/install.sh | sh` installs something: all of the text is what
/// was fetched, and its name says so. Any other download may hold the job itself.
bool ScriptRunner::is_installer(const std::string& text) const {
  const bool whole = text.starts_with('\x01') && text.find('\x02') + 2 >= text.size();
  if (!whole) return false;
  const std::string fetched = base::lower(session_.unknowns.reason(text));
  if (!base::contains(fetched, "curl ") && !base::contains(fetched, "wget ")) return false;
  constexpr std::array kInstallerNames =
      std::to_array<std::string_view>({"install", "setup", "rustup", "//get.", "get-", ".deb.sh"});
  return std::ranges::any_of(kInstallerNames,
                             [&](std::string_view name) { return base::contains(fetched, name); });
}

Flow ScriptRunner::run_inner_shell(const Words& words, const InnerShell& inner, Streams streams) {
  // A job that queues its own successor is one job; a script may queue itself as one first.
  const bool queues = file_name(words.front().text) == "sbatch" && !session_.is_batch;
  const bool again = !inner.is_text && inner.text == session_.name && !queues;
  const std::optional<std::string> text = again                ? std::nullopt
                                          : inner.is_text      ? text_of_inner(inner)
                                          : inner.text.empty() ? std::optional(*streams.input)
                                                               : script_of(inner.text);
  if (!text) {
    record(words);
    state_.status = kUnknownStatus;
    reason_ = reason_of(words).substr(0, 60);
    return Flow::kNext;
  }
  const bool unknown = ShellUnknowns::in(*text) && text->find('\n') + 1 >= text->size();
  if (unknown && is_installer(*text)) {
    session_.installers.insert(session_.unknowns.entry(*text).reason);
    record(words);
    state_.status = kUnknownStatus;
    reason_ = reason_of(words).substr(0, 60);
    return Flow::kNext;
  }
  if (unknown)
    session_.fail(fmt::format("the script {}depends on {}",
                              inner.text.empty() ? "that is read " : inner.text + " ",
                              session_.unknowns.reason(*text)));
  if (!inner.is_text && inner.text.empty()) streams.input->clear();
  contexts_.push_back(
      Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(inner.begin)));
  const std::string_view first = file_name(words.front().text);
  const bool remote =
      inner.elsewhere == "ssh" || inner.elsewhere == "pdsh" || inner.elsewhere == "clush";
  remote_ += remote ? 1 : 0;
  const int aside = std::exchange(aside_, runs_beside(first) ? ShellCommand::kBesideAll : aside_),
            batch = std::exchange(batch_, is_queue(first) ? ++batches_ : batch_);
  auto around = std::exchange(locals_, {});
  in_copy(streams, [&] {
    if (inner.elsewhere.empty()) keep_exported();
    state_.functions.clear();
    state_.aliases.clear();
    state_.no_globs = state_.null_globs = state_.any_case = state_.stops_at_error = false;
    state_.arguments = behind(words, inner.arguments);
    if (!inner.elsewhere.empty()) hide_variables(inner.elsewhere, words);
    set_exported(words, state_);
    set_batch_variables(*text, words, session_, state_);
    const std::string name = session_.name;
    if (!inner.is_text && !inner.text.empty()) session_.name = inner.text;
    const int line = session_.line;
    const auto file = inner.is_text || inner.text.empty() ? std::nullopt : find_beside(inner.text);
    if (file)
      run_file(*text, *file, streams);
    else
      run_inner(*text, streams);
    session_.line = line;
    session_.name = name;
  });
  locals_ = std::move(around);
  contexts_.pop_back();
  aside_ = aside;
  batch_ = batch;
  remote_ -= remote ? 1 : 0;
  // Nobody waits for what is typed.
  if (!inner.terminal.empty()) state_.status = 0;
  return Flow::kNext;
}

void ScriptRunner::keep_exported() {
  std::erase_if(state_.variables, [](const auto& item) { return !item.second.exported; });
}

/// What the other shell has of these names is not known; --env says it.
void ScriptRunner::hide_variables(const std::string& program, const Words& words) {
  for (auto& [name, variable] : state_.variables) {
    if (session_.given.contains(name) || is_passed(words, name)) continue;
    variable = {};
    variable.items = {{session_.unknowns.mark(fmt::format(
                           "the variable {} of the shell that {} starts (--env {}=VALUE says it)",
                           name, program, name)),
                       session_.line}};
  }
}

/// What is typed runs by whole lines, behind those before: they may set its variables.
std::string ScriptRunner::text_of_inner(const InnerShell& inner) {
  if (inner.terminal.empty()) return inner.text;
  std::string& typed = state_.files["the terminal " + inner.terminal];
  constexpr size_t kLongest = 100'000;
  if (typed.size() > kLongest) session_.fail("more text is typed at a terminal than is followed");
  typed += inner.text;
  return typed.substr(0, typed.rfind('\n') + 1);
}

std::optional<std::string> ScriptRunner::script_of(const std::string& path) {
  if (const std::string* written = written_file(state_, path)) return *written;
  if (const auto found = find_beside(path))
    if (auto text = base::read_file(*found, spec::kLargestWritten)) return *text;
  return std::nullopt;
}

}  // namespace ergometer::intake
