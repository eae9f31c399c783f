#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/shell.h"

namespace ergometer::cli {
namespace {

/// Every spelling of a command's flags that is worth completing.
std::vector<std::string> words_of(const Command& command) {
  std::vector<std::string> words;
  for (const Flag& flag : all_flags(command)) {
    words.push_back("--" + flag.name);
    if (flag.short_name.size() > 1) words.push_back("--" + flag.short_name);
    if (flag.takes == Flag::Takes::kSwitch) words.push_back("--no-" + flag.name);
  }
  return words;
}

std::string command_names() {
  const std::vector<std::string_view> names = base::mapped(commands(), &Command::name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// Flags with a fixed set of values, as "--recompute|--short": the patterns of a shell's case.
std::string case_pattern(const Flag& flag) {
  std::string pattern = "--" + flag.name;
  if (flag.short_name.size() > 1) pattern += "|--" + flag.short_name;
  return pattern;
}

bool takes_file(const Flag& flag) { return flag.value == "FILE"; }

std::string bash_values(const Command& command) {
  std::string cases;
  for (const Flag& flag : all_flags(command)) {
    if (!flag.choices.empty())
      cases += fmt::format("        {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                           case_pattern(flag), fmt::join(flag.choices, " "));
    if (takes_file(flag))
      cases += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n",
                           case_pattern(flag));
  }
  return cases;
}

std::string zsh_flag(const Flag& flag) {
  std::string help = flag.help;
  std::ranges::replace(help, '[', '(');
  std::ranges::replace(help, ']', ')');
  std::ranges::replace(help, ':', ';');
  std::string tail;
  if (flag.takes == Flag::Takes::kValue || flag.takes == Flag::Takes::kOptionalValue) {
    const std::string optional = flag.takes == Flag::Takes::kOptionalValue ? ":" : "";
    const std::string action = !flag.choices.empty()
                                   ? fmt::format("({})", fmt::join(flag.choices, " "))
                               : takes_file(flag) ? std::string("_files")
                                                  : std::string(" ");
    tail = fmt::format("{}:value:{}", optional, action);
  }
  std::string lines;
  const auto line = [&](const std::string& name, const std::string& end) {
    lines += fmt::format("        {} \\\n",
                         base::in_single_quotes(fmt::format("{}[{}]{}", name, help, end)));
  };
  line("--" + flag.name, tail);
  if (flag.short_name.size() > 1) line("--" + flag.short_name, tail);
  if (flag.takes == Flag::Takes::kSwitch) line("--no-" + flag.name, "");
  return lines;
}

std::string bash_completion() {
  std::string out =
      "# bash completion for ergometer: source it, or put it into\n"
      "# ~/.local/share/bash-completion/completions/ergometer\n"
      "_ergometer() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      command_names() +
      " --help --version' -- \"$word\")); return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands()) {
    out += fmt::format("    {})\n", command.name);
    if (const std::string values = bash_values(command); !values.empty())
      out += "      case $before in\n" + values + "      esac\n";
    out += fmt::format("      COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n",
                       fmt::join(words_of(command), " "));
    out += "      [ \"${word:0:1}\" = - ] || COMPREPLY=($(compgen -f -- \"$word\"))\n      ;;\n";
  }
  return out + "  esac\n}\ncomplete -o filenames -F _ergometer ergometer\n";
}

std::string zsh_completion() {
  std::string out =
      "#compdef ergometer\n"
      "# zsh completion for ergometer: put it as _ergometer into a folder of $fpath\n"
      "_ergometer() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const Command& command : commands())
    out += fmt::format("      {}\n",
                       base::in_single_quotes(fmt::format("{}:{}", command.name, command.summary)));
  out +=
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const Command& command : commands()) {
    out += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const Flag& flag : all_flags(command)) out += zsh_flag(flag);
    out += "        '*:argument:_files'\n      ;;\n";
  }
  return out + "  esac\n}\n_ergometer \"$@\"\n";
}

std::string fish_completion() {
  std::string out =
      "# fish completion for ergometer: put it as ~/.config/fish/completions/ergometer.fish\n"
      "complete -c ergometer -f -n __fish_use_subcommand -l help -d 'what the program does'\n"
      "complete -c ergometer -f -n __fish_use_subcommand -l version -d 'version and build'\n";
  for (const Command& command : commands())
    out += fmt::format("complete -c ergometer -f -n __fish_use_subcommand -a {} -d {}\n",
                       command.name, base::in_single_quotes(command.summary));
  for (const Command& command : commands()) {
    for (const Flag& flag : all_flags(command)) {
      std::string line =
          fmt::format("complete -c ergometer -n '__fish_seen_subcommand_from {}' -l {}",
                      command.name, flag.name);
      if (flag.short_name.size() > 1) line += " -l " + flag.short_name;
      if (flag.takes == Flag::Takes::kValue) line += takes_file(flag) ? " -r -F" : " -x";
      if (!flag.choices.empty()) line += fmt::format(" -a '{}'", fmt::join(flag.choices, " "));
      out += line + " -d " + base::in_single_quotes(flag.help) + "\n";
      if (flag.takes == Flag::Takes::kSwitch)
        out += fmt::format("complete -c ergometer -n '__fish_seen_subcommand_from {}' -l no-{}\n",
                           command.name, flag.name);
    }
  }
  return out;
}

}  // namespace

std::vector<Flag> completion_flags() { return {}; }

Result<int> run_completion(const Arguments& arguments, const Console& console) {
  const std::string& shell = arguments.words.front();
  std::string script;
  if (shell == "bash") script = bash_completion();
  if (shell == "zsh") script = zsh_completion();
  if (shell == "fish") script = fish_completion();
  if (script.empty()) {
    const std::vector<std::string> shells = {"bash", "zsh", "fish"};
    return input_error("completion: unknown shell '{}'; it is one of bash, zsh, fish{}", shell,
                       base::did_you_mean(shell, shells));
  }
  if (arguments.has("json")) {
    base::JsonWriter json;
    json.begin_object()
        .member("schema_version", 1)
        .member("shell", shell)
        .member("script", script)
        .end_object();
    script = json.take();
  }
  console.answer(script);
  return 0;
}

}  // namespace ergometer::cli
