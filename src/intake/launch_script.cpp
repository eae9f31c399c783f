#include "intake/launch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/collection.h"
#include "base/text.h"
#include "intake/megatron_arguments.h"
#include "intake/megatron_names.h"
#include "intake/script/inner_shell.h"
#include "intake/script/shell_launch.h"
#include "intake/script/shell_run.h"
#include "intake/started_program.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

constexpr ArgumentKnowledge kMegatron = {megatron_reads, megatron_switch};

bool is_flag_word(const ShellText& word) { return word.text.starts_with("--"); }

/// Programs beside the training: data, checkpoints, evaluation.
bool is_tool(std::string_view program) {
  constexpr std::array kParts = std::to_array<std::string_view>(
      {"preprocess", "convert", "checkpoint_util", "download", "tokeniz", "eval", "inference",
       "server", "generat", "setup.py", "wandb", "monitor", "prepare", "check_", "report"});
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return base::contains(program, part); });
}

std::string joined(const std::vector<ShellText>& words) {
  std::string text;
  for (const ShellText& word : words) text += word.text + "\n";
  return text;
}

/// The same launch again, on other GPUs of the same node.
void share_node(const Launch& again, Launch& launch) {
  const bool is_sure = launch.depends_on.empty() && again.depends_on.empty();
  if (!is_sure || launch.awaited_nodes != 1 || again.awaited_nodes != 1) return;
  if (launch.is_by_srun || again.is_by_srun || launch.on_gpus == again.on_gpus) return;
  if (!launch.on_gpus.empty() && !again.on_gpus.empty()) launch.on_others.insert(again.on_gpus);
}

/// The same launch again, which runs beside the first: several `srun -N 1 ... &` start a job's
/// launchers, each on a node of its own, or, where it awaits no more nodes, jobs of their own.
/// `is_own_job`: it is one even where it says nothing of nodes.
void start_beside(const Launch& again, bool is_own_job, Launch& launch) {
  if (!again.is_by_srun || !launch.is_by_srun) return share_node(again, launch);
  const bool is_whole = launch.awaited_nodes <= launch.started_on;
  if (is_whole && (is_own_job || launch.awaited_nodes > 0)) {
    // One of two alternatives, or one that waits until nodes are free, does not run beside it.
    const bool is_sure = launch.depends_on.empty() && again.depends_on.empty();
    if (!is_sure || again.started_on > launch.idle_nodes) return;
    launch.beside += again.started_on;
    launch.idle_nodes -= again.started_on;
    return;
  }
  const int64_t more = std::min(again.started_on, launch.idle_nodes);
  launch.started_on += more;
  launch.idle_nodes -= more;
}

/// The same launch again; `is_own_job`: in other words of the same settings.
void start_again(const Launch& again, bool is_own_job, Launch& launch) {
  // Each script that is queued has nodes of its own, at a time of its own.
  if (again.batch != launch.batch) return;
  const bool same_list = again.aside == launch.aside && again.aside != ShellCommand::kBesideAll;
  if (!same_list && launch.aside != ShellCommand::kOfNone) {
    if (again.waits == launch.waits) start_beside(again, is_own_job, launch);
  } else if (same_list && launch.depends_on.empty() && again.depends_on.empty() &&
             launch.launchers == again.launchers) {
    // It has ended before.
    launch.times += again.times;
  }
}

/// Its file or program may say of how many nodes it is. One node of several launchers is a mistake
/// that is told where GPUs are counted.
void learn_nodes(const ShellRun& run, Launch& launch) {
  if (!launch.is_by_srun || launch.idle_nodes == 0) return;
  if (const auto reading = read_program(launch, run); reading && reading->launchers > 1)
    launch.awaited_nodes = std::max(launch.awaited_nodes, reading->launchers);
}

/// The training that a script starts, the same one once.
std::vector<Launch> launches_of(const ShellRun& run) {
  std::vector<Launch> all;
  for (const ShellCommand& command : run.commands)
    if (auto launch = launch_of(command, run)) all.push_back(std::move(*launch));
  const auto is_training = [](const Launch& launch) { return !is_tool(launch.program); };
  if (std::ranges::any_of(all, is_training))
    std::erase_if(all, [&](const Launch& launch) { return !is_training(launch); });
  if (std::ranges::any_of(all, trains))
    std::erase_if(all, [](const Launch& launch) { return !trains(launch); });
  std::vector<Launch> different;
  std::map<std::string, size_t> seen;
  for (Launch& launch : all) {
    const auto [it, is_new] =
        seen.emplace(fmt::format("{} {} {}", launch.name, launch.gpus, joined(launch.arguments)),
                     different.size());
    if (is_new) {
      different.push_back(std::move(launch));
      continue;
    }
    learn_nodes(run, different[it->second]);
    start_again(launch, false, different[it->second]);
  }
  return different;
}

/// Whether all make the same settings: they differ in names, paths or learning rates.
bool are_one_job(const std::vector<Launch>& launches, const ShellRun& run) {
  std::optional<std::string> first;
  for (const Launch& launch : launches) {
    const auto reading = read_program(launch, run);
    if (!reading) return false;
    std::string text = std::to_string(launch.gpus);
    for (const auto& [name, value] : reading->settings.all())
      text += fmt::format("\n{}={}", name, value.text);
    if (first && *first != text) return false;
    first = text;
  }
  return true;
}

/// What the second of two launches says that the first does not, with the option in front.
std::string words_lacking_in(const Launch& first, const Launch& second) {
  std::string text;
  for (size_t i = 0; i < second.arguments.size(); ++i) {
    const std::string& word = second.arguments[i].text;
    if (i < first.arguments.size() && first.arguments[i].text == word) continue;
    const bool value =
        i > 0 && !word.starts_with('-') && second.arguments[i - 1].text.starts_with('-');
    text += (text.empty() ? "" : " ") + (value ? second.arguments[i - 1].text + " " : "") +
            (ShellUnknowns::in(word) ? "?" : word);
  }
  constexpr size_t kLongest = 100;
  return text.empty() ? "other GPUs" : text.substr(0, kLongest);
}

Result<Launch> only_launch(std::vector<Launch> launches, const ShellRun& run,
                           const ScriptContext& context) {
  if (context.line > 0)
    std::erase_if(launches,
                  [&](const Launch& launch) { return launch.line % kLinesOfFile != context.line; });
  if (launches.size() > 1 && are_one_job(launches, run)) {
    learn_nodes(run, launches.front());
    for (size_t i = 1; i < launches.size(); ++i) start_again(launches[i], true, launches.front());
    launches.resize(1);
  }
  if (launches.size() == 1) return std::move(launches.front());
  if (launches.empty())
    return input_error("{}: no job is started at line {}", run.session.name, context.line);
  if (std::ranges::all_of(launches, [&](const Launch& launch) {
        return launch.line == launches.front().line && launch.depends_on.empty();
      })) {
    // What is wrong with each of them says more than what they differ in.
    ERGOMETER_TRY(read_program(launches.front(), run));
    return input_error(
        "{}: {} is started {} times with other words: {}, and {}; keep one of them alone",
        run.session.where(launches.front().line), launches.front().name, launches.size(),
        words_lacking_in(launches.back(), launches.front()),
        words_lacking_in(launches.front(), launches.back()));
  }
  std::string message =
      fmt::format("{}: starts {} different jobs", run.session.name, launches.size());
  constexpr size_t kMostNamed = 4;
  for (size_t i = 0; i < std::min(kMostNamed, launches.size()); ++i)
    message += fmt::format("{}{} ({})", i == 0 ? ": " : ", ", launches[i].name,
                           run.session.where(launches[i].line));
  if (!launches.back().depends_on.empty())
    return input_error("{}; which one depends on {}", message, launches.back().depends_on);
  return input_error(message + "; --script-line N takes the one that is started there");
}

/// Scripts that start nothing: words behind dashes in commands, else in variables
/// (MODEL_ARGS=(...)).
std::vector<ShellText> loose_words(const ShellRun& run) {
  std::vector<ShellText> words;
  for (const ShellCommand& command : run.commands)
    if (std::ranges::any_of(command.words, is_flag_word))
      words.insert(words.end(), command.words.begin(), command.words.end());
  if (!words.empty()) return words;
  for (const auto& [name, variable] : run.state.variables) {
    std::vector<ShellText> items;
    for (const ShellText& item : variable.items) {
      if (variable.kind == ShellVariable::Kind::kList) {
        items.push_back(item);
        continue;
      }
      std::string text = item.text;
      std::ranges::replace(text, '\n', ' ');
      for (const std::string& word : base::split(text, ' '))
        if (!word.empty()) items.push_back({word, item.line});
    }
    if (std::ranges::any_of(items, is_flag_word))
      words.insert(words.end(), items.begin(), items.end());
  }
  return words;
}

/// The same argument twice with different values: which one holds cannot be told without a command.
Result<void> check_once(const std::vector<Argument>& arguments) {
  std::map<std::string, const Argument*> seen;
  for (const Argument& argument : arguments) {
    const auto [it, is_new] = seen.emplace(argument.name, &argument);
    if (!is_new && it->second->list != argument.list && megatron_reads(argument.name))
      return input_error(
          "{}: --{} is given twice, {} and {} ({}), and no command says which one holds",
          argument.where, argument.name, argument.value, it->second->value, it->second->where);
  }
  return {};
}

/// A line that begins with an argument belongs to the one before, whose backslash is missing.
Result<void> check_no_loose_lines(const ShellRun& run) {
  for (const ShellCommand& command : run.commands)
    if (command.around < command.words.size() && is_flag_word(command.words[command.around]))
      return input_error(
          "{}: {} stands alone: does the line before it lack a backslash at its end?",
          run.session.where(command.line), command.words[command.around].text);
  return {};
}

/// What becomes of the nodes of a batch on which nothing starts the program.
std::string on_other_nodes(const Launch& launch, const ShellRun& run, const Reading& reading) {
  const auto* gpus = reading.settings.find("gpus");
  const auto number = base::parse_integer(gpus == nullptr ? "" : gpus->text);
  // The program itself may be told of nodes: Trainer(num_nodes=4).
  const bool awaits = std::max(launch.awaited_nodes, reading.launchers) > launch.started_on ||
                      (launch.is_alone && launch.visible && launch.visible->count > 0 && number &&
                       *number > launch.visible->count);
  const int64_t started_on = launch.started_on + launch.beside,
                nodes = launch.idle_nodes + started_on;
  const std::string_view becomes =
      awaits            ? "it trains nothing without them; predicted as if it were started on all"
      : started_on == 1 ? "one node trains, the others idle"
                        : "these idle";
  if (launch.is_by_srun)
    return fmt::format("{}: srun starts {} on {} of the batch's {} nodes and not on the others: {}",
                       run.session.where(launch.line), launch.name, started_on, nodes, becomes);
  return fmt::format(
      "{}: Slurm runs a batch script on the first of its {} nodes, and no srun starts {} on the "
      "others: {}",
      run.session.where(launch.line), nodes, launch.name, becomes);
}

void add_gpus(const Launch& launch, const ShellRun& run, Reading& reading) {
  if (launch.gpus > 0)
    reading.settings.set("gpus", std::to_string(launch.gpus),
                         {run.session.where(launch.gpus_line), launch.gpus_from});
  else if (launch.gpus_is_open) {
    // The launcher's own word counts over its file's, known or not.
    reading.settings.erase("gpus");
    reading.defaults.erase("gpus");
  }
  std::string apart = launch.apart;
  const auto* gpus = reading.settings.find("gpus");
  if (launch.is_by_srun && launch.started_on > 1 && reading.launchers == 1 && gpus != nullptr)
    apart = fmt::format(
        "accelerate's num_machines is 1: each of the {} nodes trains by itself, on {} GPUs",
        launch.started_on, gpus->text);
  if (!apart.empty())
    reading.notes.push_back(fmt::format("{}: {}", run.session.where(launch.gpus_line), apart));
  if (launch.beside > 0)
    reading.notes.push_back(fmt::format(
        "{}: jobs of the same settings run beside it on {} more {} of the batch; one of them is "
        "predicted",
        run.session.where(launch.line), launch.beside, launch.beside == 1 ? "node" : "nodes"));
  if (const size_t count = launch.on_others.size(); count > 0)
    reading.notes.push_back(fmt::format(
        "{}: {} more {} beside it on other GPUs of its node; one of them is predicted, alone",
        run.session.where(launch.line), count,
        count == 1 ? "job of the same settings runs" : "jobs of the same settings run"));
  if (launch.idle_nodes > 0) reading.notes.push_back(on_other_nodes(launch, run, reading));
  if (launch.node_gpus > 0) {
    reading.node_gpus = launch.node_gpus;
    reading.node_gpus_from =
        fmt::format("{}: {}", run.session.where(launch.gpus_line), launch.gpus_from);
  }
  if (!launch.gpus_from.empty() && reading.settings.find("gpus") == nullptr)
    reading.open["gpus"] = fmt::format("{}: how many GPUs are used: {}; give --gpus",
                                       run.session.where(launch.gpus_line), launch.gpus_from);
}

/// nnodes and nproc_per_node in files that hold arguments alone.
void add_loose_gpus(const std::vector<Argument>& arguments, Reading& reading) {
  int64_t nodes = 0, each = 0;
  std::string where;
  for (const Argument& argument : arguments) {
    const auto number = base::parse_integer(argument.value);
    if (!number || *number < 1 || *number > 1'000'000) continue;
    if (argument.name == "nnodes") nodes = *number;
    if (argument.name == "nproc_per_node" || argument.name == "gpus_per_node") {
      each = *number;
      where = argument.where;
    }
  }
  if (nodes > 0 && each > 0)
    reading.settings.set("gpus", std::to_string(nodes * each), {where, "nnodes x nproc-per-node"});
}

/// A program that is started and unknown may take any number of GPUs.
void open_loose_gpus(const ShellRun& run, Reading& reading) {
  if (reading.settings.find("gpus") != nullptr) return;
  for (const ShellCommand& command : run.commands)
    if (std::ranges::any_of(command.words, is_flag_word)) {
      reading.open["gpus"] = fmt::format(
          "{}: how many GPUs are used: {} is no launcher that is known here; give --gpus",
          run.session.where(command.line), command.words.front().text);
      return;
    }
}

void note_unset(const ShellRun& run, Reading& reading) {
  if (run.session.unset.empty()) return;
  std::string names;
  constexpr int kMostNames = 8;
  int count = 0;
  for (const std::string& name : run.session.unset)
    if (++count <= kMostNames) names += (names.empty() ? "" : ", ") + name;
  if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
  // "$1" before all names.
  const bool words = run.session.unset.begin()->starts_with('$'),
             variables = !run.session.unset.rbegin()->starts_with('$');
  reading.notes.push_back(fmt::format("not set by the script, taken as empty: {} ({}{}{})", names,
                                      words ? "--script-args gives its arguments" : "",
                                      words && variables ? ", " : "",
                                      variables ? "--env NAME=VALUE sets one" : ""));
}

/// As bash does it: what a script sets counts over the environment that it is started in.
void note_overridden(const ShellRun& run, Reading& reading) {
  for (const auto& [name, value] : run.session.overridden)
    reading.notes.push_back(
        fmt::format("--env {} does not count: the script sets it to {}", name, value));
}

void note_installers(const ShellRun& run, Reading& reading) {
  for (const std::string& installer : run.session.installers)
    reading.notes.push_back(fmt::format("taken to install something, not followed: {}", installer));
}

/// What a script that is not here makes of its words is not known.
Result<void> check_scripts_are_here(const ShellRun& run) {
  for (const ShellCommand& command : run.commands) {
    const auto inner = inner_shell(command.words);
    if (inner && !inner->is_text && !inner->text.empty())
      return input_error("{}: runs {}, which is not here; put it beside the script",
                         run.session.where(command.line), inner->text);
  }
  return {};
}

/// Shells whose words mean something else than bash's are not followed.
Result<void> check_shell(const std::string& text, const std::string& file) {
  const std::string first = text.substr(0, text.find('\n'));
  for (const char* shell : {"zsh", "csh", "tcsh", "fish"})
    for (const char* before : {"/", " "})
      if (first.starts_with("#!") && first.find(std::string(before) + shell) != first.npos)
        return input_error("{}:1: a script of {}; allowed: of bash or sh, which are followed", file,
                           shell);
  return {};
}

/// The program that a line names, be it within quotes or a here-document; empty if none.
std::string program_named_in(std::string line) {
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos || line[first] == '#') return "";
  constexpr std::string_view kBetween = "\"'`();|&\t";
  for (char& c : line)
    if (kBetween.find(c) != kBetween.npos) c = ' ';
  constexpr std::array<std::string_view, 4> kStarters = {"torchrun", "deepspeed", "accelerate",
                                                         "python3"};
  std::string before;
  for (const std::string& word : base::split(line, ' ')) {
    const bool starts = base::contains(kStarters, base::last_part(word, '/')) ||
                        (word.ends_with(".py") && word.find('=') == word.npos);
    if (starts && !before.starts_with('-')) return word;
    if (!word.empty()) before = word;
  }
  return "";
}

/// Arguments whose command is hidden from here, within a text that another program runs or a file
/// that is not here, are not all that the command gets.
Result<void> check_hides_no_program(const std::string& text, const ShellRun& run,
                                    const std::string& file) {
  if (const std::string& missing = run.state.missing_source; !missing.empty())
    return input_error(
        "{}: reads {}, which is not here, and starts no program besides; put it beside the script",
        file, missing);
  const std::vector<std::string> lines = base::split(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i)
    if (const std::string program = program_named_in(lines[i]); !program.empty())
      return input_error(
          "{}:{}: {} is started by a text that another program runs, which is not followed; give "
          "a script that holds that command itself",
          file, i + 1, program);
  return {};
}

/// A file that holds arguments and starts nothing.
Result<Reading> read_loose(const std::string& script, const ShellRun& run, const std::string& file,
                           const ScriptContext& context) {
  ERGOMETER_TRY(check_scripts_are_here(run));
  // Words of a launcher are not a training's.
  for (const ShellCommand& command : run.commands)
    for (const char* launcher : {"torchrun", "deepspeed", "accelerate"})
      if (command.words.front().text == launcher)
        return input_error("{}: {} starts no Python program", run.session.where(command.line),
                           launcher);
  std::vector<ShellText> words = loose_words(run);
  for (const std::string& word : context.more) words.push_back({word, 0});
  if (words.empty() && run.session.exit_line > 0)
    return input_error(
        "{}: starts no program, and exits at {} (--script-args gives it arguments, --env "
        "variables)",
        file, run.session.where(run.session.exit_line));
  for (const ShellCommand& command : run.commands)
    if (const std::string& program = command.words.front().text;
        words.empty() && program.starts_with("python"))
      return input_error(
          "{}: {} runs Python text, which is not read; give the command that it starts",
          run.session.where(command.line), program);
  if (words.empty())
    return input_error("{}: holds no arguments; expected a launch script or --name value pairs",
                       file);
  ERGOMETER_TRY(check_hides_no_program(script, run, file));
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments, arguments_of(words, run, kMegatron));
  ERGOMETER_TRY(check_once(arguments));
  if (std::ranges::none_of(arguments,
                           [](const Argument& argument) { return megatron_reads(argument.name); }))
    return input_error("{}: starts no training program that is known here; {} is none", file,
                       words.front().text);
  ERGOMETER_ASSIGN(Reading reading, read_megatron(arguments, file));
  add_loose_gpus(arguments, reading);
  open_loose_gpus(run, reading);
  note_unset(run, reading);
  return reading;
}

Result<Reading> read_launch(std::vector<Launch> launches, const ShellRun& run,
                            const ScriptContext& context) {
  ERGOMETER_TRY(check_no_loose_lines(run));
  for (Launch& launch : launches)
    for (const std::string& word : context.more) launch.arguments.push_back({word, launch.line});
  ERGOMETER_ASSIGN(const Launch launch, only_launch(std::move(launches), run, context));
  ERGOMETER_ASSIGN(Reading reading, read_program(launch, run));
  reading.form = "a launch script";
  const bool all_kept = run.commands.size() < ShellRun::kMostCommands;
  reading.notes.insert(
      reading.notes.begin(),
      fmt::format("{} starts {}{}{}", run.session.where(launch.line), launch.name,
                  launch.depends_on.empty() ? "" : fmt::format(", if {}", launch.depends_on),
                  launch.times == 1
                      ? ""
                      : fmt::format(", {}{} times one behind the other with the same settings; "
                                    "one run is predicted",
                                    all_kept ? "" : "at least ", launch.times)));
  add_gpus(launch, run, reading);
  note_unset(run, reading);
  note_overridden(run, reading);
  note_installers(run, reading);
  return reading;
}

}  // namespace

Result<Reading> parse_launch_script(const std::string& text, const std::string& file,
                                    const ScriptContext& context) {
  if (!text.starts_with("#!")) {
    ERGOMETER_ASSIGN(auto from_yaml, read_megatron_yaml(text, file));
    if (from_yaml) return std::move(*from_yaml);
  }
  ERGOMETER_TRY(check_shell(text, file));
  ERGOMETER_ASSIGN(const ShellRun run, run_shell(text, file, context));
  std::vector<Launch> launches = launches_of(run);
  if (launches.empty()) return read_loose(text, run, file, context);
  return read_launch(std::move(launches), run, context);
}

Result<Reading> read_started_programs(const std::vector<StartedProgram>& programs,
                                      const std::string& name, const ScriptContext& context) {
  ShellRun run;
  run.session.name = name;
  run.session.files = {name};
  for (const StartedProgram& program : programs) {
    run.state.variables.clear();
    run.state.files = program.files;
    for (const auto& [variable, value] : program.environment)
      export_variable(variable, value, run.state);
    for (const std::string& variable : program.unknown)
      export_variable(variable, run.session.unknowns.mark("the variable " + variable), run.state);
    std::vector<std::string> words = program.words;
    for (const auto& [place, what] : program.unknown_words)
      words[place] = run.session.unknowns.mark(what);
    for (const auto& [part, what] : program.unknown_parts)
      for (std::string& word : words)
        for (size_t at = word.find(part); at != word.npos; at = word.find(part))
          word.replace(at, part.size(), run.session.unknowns.mark(what));
    run_shell_program(words, program.lines, run);
  }
  if (run.session.failed()) return input_error(run.session.failure);
  if (!programs.empty()) set_batch_of_environment(run);
  std::vector<Launch> launches = launches_of(run);
  if (launches.empty())
    return input_error("{}: none of the programs that it starts trains a model", name);
  return read_launch(std::move(launches), run, context);
}

Result<std::vector<std::string>> shell_words_of(const std::string& text) {
  ERGOMETER_ASSIGN(const ShellRun run, run_shell("words " + text, "words", {}));
  if (!run.session.unset.empty())
    return input_error("\"{}\" names ${}, which is not set; write its value", text,
                       *run.session.unset.begin());
  std::vector<std::string> words;
  if (run.commands.size() == 1)
    for (size_t i = 1; i < run.commands.front().words.size(); ++i) {
      words.push_back(run.commands.front().words[i].text);
      if (ShellUnknowns::in(words.back()))
        return input_error("\"{}\" holds what only a running shell knows; write its value", text);
    }
  return words;
}

Result<spec::Settings> parse_megatron_arguments(const std::string& text, const std::string& file,
                                                std::vector<std::string>& ignored) {
  ERGOMETER_ASSIGN(Reading reading, parse_launch_script(text, file));
  for (const Leftover& leftover : reading.leftovers) ignored.push_back(leftover.name);
  return std::move(reading.settings);
}

}  // namespace ergometer::intake
