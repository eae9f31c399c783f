#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "intake/shell/shell_state.h"

// Options of launchers, word by word.

namespace ergometer::intake {

/// A path without its folders.
std::string_view file_name(std::string_view path);
/// Whether a word is a shell script by its name.
bool is_script(std::string_view word);

/// The value of `--name value`, `--name=value` or `-n value`; `at` moves to the last word used.
/// What stands without a value is "(nothing)", which is no number.
std::optional<std::string> option_value(const std::vector<ShellText>& words, size_t& at,
                                        std::string_view name);

/// Numbers that launchers were given; a text with a mark when one is not known.
struct LauncherCounts {
  std::string nodes, tasks, tasks_per_node, gpus_per_node, gpus, tasks_per_gpu, gpus_per_task;
  /// How many tasks Slurm makes of the GPUs, where it is not told; 0: it does not.
  int64_t tasks_of_gpus(int64_t on_nodes, int64_t gpus_of_node) const;
};

/// Whether the word is one of Slurm's numbers; `at` moves to the last word used.
bool read_slurm_option(const std::vector<ShellText>& words, size_t& at, LauncherCounts& counts);

/// A launcher's options that say how many processes it starts and where, and those that read alike.
struct CountingOptions {
  std::string_view launcher;
  std::vector<std::string_view> count, others;
};
/// By the launcher whose options it has ("srun" of sbatch); null: its spelling is not looked at.
const CountingOptions* counting_options(std::string_view launcher);

/// The word with an option that is cut short written in full, as argparse and getopt_long take it.
/// `wrong` is told of the first word that is none of the launcher's and nearly one that counts.
std::string spelt_out(const std::string& word, const CountingOptions& options, std::string& wrong);

/// How many of something; 0 where the text is no such number.
int64_t launcher_number(const std::string& text);

}  // namespace ergometer::intake
