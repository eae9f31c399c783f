#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "intake/config/own_processes.h"
#include "intake/script/shell_run.h"

namespace ergometer::intake {

/// Sets the variables that Slurm sets for a script with these #SBATCH lines, started by these words
/// (`sbatch --nodes 4 ...`, or none); what --env gave stays.
void set_batch_variables(const std::string& script, const std::vector<ShellText>& words,
                         ShellSession& session, ShellState& state);

/// What the variables say that Slurm has set, where no #SBATCH line is seen.
void set_batch_of_environment(ShellRun& run);

/// A program of a training framework and how many GPUs its launchers give it.
struct Launch {
  std::string program;               ///< as it is started: "megatron/pretrain_gpt.py"
  std::string name;                  ///< without folders: "pretrain_gpt.py", "torchtitan.train"
  std::vector<ShellText> arguments;  ///< behind the program
  int64_t gpus = 0;                  ///< 0: the launchers do not say
  std::string gpus_from;             ///< "torchrun --nnodes 4 --nproc_per_node 8", or why not known
  int gpus_line = 0;
  int64_t node_gpus = 0;  ///< of each of several nodes; 0: not said
  bool is_alone = false;  ///< no launcher starts it: one process, unless it starts more itself
  std::optional<VisibleGpus> visible;  ///< of a program that is alone
  bool gpus_is_open = false;           ///< a launcher says how many, in words that are not known
  std::string_view foreign;            ///< the name of a framework that is not read; empty: none
  std::string accelerate_config;       ///< --config_file of `accelerate launch`
  /// Its other words: name without dashes in front, value; a switch has none.
  std::vector<std::pair<std::string, ShellText>> accelerate_words;
  std::map<std::string, std::string, std::less<>> environment;  ///< of the program
  int line = 0;
  std::string apart;        ///< why each of several nodes trains by itself; empty: it does not
  int64_t idle_nodes = 0;   ///< nodes of the batch on which nothing starts it
  int64_t started_on = 1;   ///< nodes of the batch on which it is started
  bool is_by_srun = false;  ///< by srun, which is told of fewer nodes than the batch has
  int aside = 0, waits = 0, batch = 0;  ///< as of ShellCommand
  std::string launchers;                ///< the words in front of the program
  int64_t times = 1;                    ///< so often, one behind the other
  int64_t beside = 0;               ///< nodes of the batch on which jobs alike run at the same time
  std::string on_gpus;              ///< which of a node's it is told of; empty: all, or not known
  std::set<std::string> on_others;  ///< on which jobs alike run at the same time
  int64_t awaited_nodes =
      0;                   ///< it is told of so many, and trains nothing without them; 0: of none
  std::string depends_on;  ///< as of ShellCommand
};
/// Programs that take their whole job from a file, and start a process for every GPU themselves:
/// LLaMA-Factory, Axolotl.
bool is_front_end(std::string_view program);
/// LLaMA-Factory, whose file gives way to words like cutoff_len=1024.
bool is_llama_factory(std::string_view program);
/// TRL's `trl sft --model_name_or_path ...`, which starts itself by accelerate.
bool is_trl(std::string_view program);
/// TRL's own scripts, as a module or a file: trl.scripts.sft, trl/examples/scripts/sft.py.
bool is_script_of_trl(std::string_view program);
/// ms-swift's `swift sft` and `megatron sft`, or the modules behind them.
bool is_swift(const Launch& launch);
/// AMD's Primus by its own command, which starts torchrun itself.
bool is_primus(std::string_view program);
/// torchtune's `tune run`, which starts torchrun itself.
bool is_tune(const Launch& launch);
/// srun, torchrun, trl, ...: programs that start others.
bool is_launcher(std::string_view word);

/// Nothing when the words start no Python program.
std::optional<Launch> launch_of(const ShellCommand& command, const ShellRun& run);

}  // namespace ergometer::intake
