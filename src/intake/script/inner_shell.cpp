#include "intake/script/inner_shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/programs/launcher_options.h"

namespace ergometer::intake {
namespace {

using InnerWords = std::vector<ShellText>;

/// Programs whose containers do not get this script's variables, but those that they are given.
bool is_container(std::string_view word) {
  const std::string_view name = file_name(word);
  return name == "docker" || name == "podman" || name == "kubectl" || name == "oc";
}

/// sudo gives its program a new environment, unless -E keeps the old one.
bool resets_environment(const InnerWords& words, size_t at) {
  if (file_name(words[at].text) != "sudo") return false;
  for (++at; at < words.size() && words[at].text.starts_with('-'); ++at) {
    const std::string& option = words[at].text;
    if (option == "--preserve-env") return false;
    if (!option.starts_with("--") && base::contains(option, "E")) return false;
    if (option == "-u" || option == "-g") ++at;
  }
  return true;
}

bool is_shell(std::string_view word) {
  const std::string_view name = file_name(word);
  return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ksh";
}

/// Programs whose own words hold a text or the name of a script.
std::optional<InnerShell> special_shell(const InnerWords& words) {
  if (auto spread = spread_shell(words)) return spread;
  if (auto terminal = terminal_shell(words)) return terminal;
  return submitted_shell(words);
}

/// The same behind programs that start them: `timeout 3h ssh host TEXT`.
std::optional<InnerShell> special_shell_behind(const InnerWords& words, size_t at) {
  auto inner = special_shell({words.begin() + static_cast<std::ptrdiff_t>(at), words.end()});
  if (!inner) return inner;
  inner->begin += at;
  inner->arguments += at;
  return inner;
}

/// `bash -c TEXT`, `bash FILE`, `bash` alone.
std::optional<InnerShell> plain_shell(const InnerWords& words, size_t shell) {
  size_t at = shell + 1;
  for (; at < words.size() && words[at].text.starts_with('-') && words[at].text != "--"; ++at) {
    const std::string& option = words[at].text;
    if (option.starts_with("--") || !base::contains(option, "c")) continue;
    if (at + 1 >= words.size()) return std::nullopt;
    return InnerShell{true, words[at + 1].text, shell, at + 3, {}, {}};
  }
  if (at >= words.size()) return InnerShell{false, "", shell, at, {}, {}};
  return InnerShell{false, words[at].text, shell, at + 1, {}, {}};
}

}  // namespace

bool is_wrapper(std::string_view word) {
  constexpr std::array kWrappers = std::to_array<std::string_view>(
      {"srun",   "sbatch", "salloc",   "mpirun",     "mpiexec",    "singularity", "apptainer",
       "docker", "podman", "enroot",   "sudo",       "timeout",    "numactl",     "taskset",
       "nsys",   "ncu",    "rocprof",  "rocprofv3",  "stdbuf",     "jsrun",       "aprun",
       "flux",   "time",   "kubectl",  "horovodrun", "dlprof",     "shifter",     "prun",
       "nice",   "env",    "torchrun", "deepspeed",  "accelerate", "blaunch",     "conda",
       "mamba",  "poetry", "uv",       "micromamba", "pixi",       "pipenv",      "setsid",
       "ionice", "chrt",   "unbuffer", "xvfb-run",   "screen",     "sshpass",     "oc"});
  return base::contains(kWrappers, file_name(word));
}

bool sets_variable(std::string_view word) {
  const size_t equals = word.find('=');
  return equals != word.npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     is_shell_name_char);
}

InnerShell shell_of(const std::vector<ShellText>& words, size_t begin, size_t end) {
  InnerShell inner;
  inner.is_text = true;
  for (size_t i = begin; i < end; ++i)
    inner.text += (inner.text.empty() ? "" : " ") + words[i].text;
  inner.arguments = words.size();
  return inner;
}

std::optional<size_t> behind_options(const std::vector<ShellText>& words, size_t at,
                                     std::string_view with_value, std::string_view alone) {
  while (at < words.size() && words[at].text.starts_with('-')) {
    if (words[at].text == "--") return at + 1;
    const std::string name = " " + words[at].text + " ";
    if (base::contains(with_value, name))
      at += 2;
    else if (base::contains(alone, name))
      at += 1;
    else
      return std::nullopt;
  }
  return std::min(at, words.size());
}

namespace {

std::optional<InnerShell> shell_here(const InnerWords& words) {
  const std::string_view first = file_name(words.front().text);
  const bool wrapped = is_wrapper(first);
  for (size_t i = 0; i < words.size() && (i == 0 || wrapped); ++i) {
    const std::string& word = words[i].text;
    if (auto special = special_shell_behind(words, i)) return special;
    if (word == "--wrap" && i + 1 < words.size())
      return InnerShell{true, words[i + 1].text, i, words.size(), {}, {}};
    if (word.starts_with("--wrap="))
      return InnerShell{true, word.substr(7), i, words.size(), {}, {}};
    if (word.ends_with(".py")) break;  // what follows is the program's
    if (is_script(word)) return InnerShell{false, word, i, i + 1, {}, {}};
    if (is_shell(word)) return plain_shell(words, i);
  }
  // The batch script is what sbatch reads.
  if (first == "sbatch") return InnerShell{false, "", words.size(), words.size(), {}, {}};
  return std::nullopt;
}

}  // namespace

std::optional<InnerShell> inner_shell(const std::vector<ShellText>& words) {
  auto inner = shell_here(words);
  for (size_t i = 0; inner && i < std::min(inner->begin, words.size()); ++i)
    if (is_container(words[i].text) || resets_environment(words, i))
      inner->elsewhere = file_name(words[i].text);
  return inner;
}

bool is_passed(const std::vector<ShellText>& words, std::string_view name) {
  for (size_t at = 1; at < words.size() && !is_shell(words[at].text); ++at) {
    const std::string& before = words[at - 1].text;
    if (words[at].text == name && (before == "-e" || before == "--env")) return true;
    if (words[at].text == fmt::format("--env={}", name)) return true;
    // sudo --preserve-env=A,B
    constexpr std::string_view kKept = "--preserve-env=";
    if (words[at].text.starts_with(kKept) &&
        base::contains(base::split(words[at].text.substr(kKept.size()), ','), name))
      return true;
  }
  return false;
}

void export_list(std::string_view list, ShellState& state) {
  for (const std::string& part : base::split(list, ','))
    if (const size_t equals = part.find('='); sets_variable(part))
      export_variable(part.substr(0, equals), part.substr(equals + 1), state);
}

void set_exported(const std::vector<ShellText>& words, ShellState& state) {
  bool after_env = false, container = false;
  const std::string_view first = file_name(words.front().text);
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at].text;
    container = container || is_container(word);
    if (is_shell(word) || is_script(word)) return;
    after_env = after_env || file_name(word) == "env" || file_name(word) == "sudo" ||
                (container && (word == "-e" || word == "--env"));
    const std::string given = word.starts_with("--env=") ? word.substr(6) : word;
    if (const size_t equals = given.find('='); after_env && sets_variable(given))
      export_variable(given.substr(0, equals), given.substr(equals + 1), state);
    else if (const auto list = option_value(words, at, "--export"))
      export_list(*list, state);
    else if (first == "qsub" && word == "-v" && at + 1 < words.size())
      export_list(words[at + 1].text, state);
  }
}

}  // namespace ergometer::intake
