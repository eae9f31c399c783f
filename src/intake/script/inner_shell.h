#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intake/shell/shell_state.h"

namespace ergometer::intake {

/// A shell that a program's words start: `bash -c TEXT`, `srun ... bash train.sh`, `ssh host TEXT`.
struct InnerShell {
  bool is_text = false;  ///< `text` is the script itself, else its path; an empty path: the input
  std::string text;
  size_t begin = 0;      ///< words in front of it are launchers
  size_t arguments = 0;  ///< where $1 is
  /// The program whose shell does not get this script's variables (ssh, tmux, docker); empty: it
  /// gets what is exported.
  std::string elsewhere;
  std::string terminal;  ///< not empty: `text` is typed behind what was typed there before
};
std::optional<InnerShell> inner_shell(const std::vector<ShellText>& words);

/// Words from `begin` on as one text, as a shell at another end gets them.
InnerShell shell_of(const std::vector<ShellText>& words, size_t begin, size_t end);
/// Where the words behind the options are; nothing at an option that is not among these.
/// `with_value` and `alone` hold names with a blank around each.
std::optional<size_t> behind_options(const std::vector<ShellText>& words, size_t at,
                                     std::string_view with_value, std::string_view alone);

/// ssh, pdsh, clush and GNU parallel.
std::optional<InnerShell> spread_shell(const std::vector<ShellText>& words);
/// tmux and screen, which run a text or have it typed; su and script, which run one.
std::optional<InnerShell> terminal_shell(const std::vector<ShellText>& words);
/// `tmux A \\; B` as calls of one command each; none where it is one.
std::vector<std::vector<ShellText>> commands_of_tmux(const std::vector<ShellText>& words);
/// bsub and qsub: a text, a file, or the input.
std::optional<InnerShell> submitted_shell(const std::vector<ShellText>& words);

/// Programs that run the words behind their own options.
bool is_wrapper(std::string_view word);
/// NAME=VALUE, as behind `env`.
bool sets_variable(std::string_view word);
/// The variables of a list as `--export` takes it: "ALL,NAME=VALUE,OTHER".
void export_list(std::string_view list, ShellState& state);
/// Whether `docker run -e NAME` passes this variable as it is here.
bool is_passed(const std::vector<ShellText>& words, std::string_view name);
/// Variables that `sbatch --export=ALL,NAME=VALUE`, `env NAME=VALUE`, `qsub -v NAME=VALUE` or
/// `docker run -e NAME=VALUE` give an inner script.
void set_exported(const std::vector<ShellText>& words, ShellState& state);

}  // namespace ergometer::intake
