#include "intake/script/shell_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/programs/accelerate_words.h"
#include "intake/programs/launcher_options.h"
#include "intake/reader/framework_options.h"
#include "intake/research/llm_c.h"
#include "intake/script/inner_shell.h"
#include "intake/script/launch_gpus.h"

namespace ergometer::intake {
namespace {

using LaunchWords = std::vector<ShellText>;

class LaunchReader {
 public:
  LaunchReader(const ShellCommand& command, const ShellRun& run)
      : words_(command.words), run_(run) {
    by_.starts_everywhere = command.is_remote;
    launch_.line = command.line;
    launch_.depends_on = command.depends_on;
    const bool detaches = is_detached();
    launch_.aside = command.is_remote || detaches ? ShellCommand::kBesideAll : command.aside;
    launch_.waits = command.waits;
    launch_.batch = command.batch;
    launch_.environment = command.environment;
  }

  std::optional<Launch> read() {
    if (is_installation()) return std::nullopt;
    size_t at = 0;
    for (; at < words_.size(); ++at) {
      const std::string& word = words_[at].text;
      const std::string_view name = file_name(word);
      if (is_program(at)) break;
      if (const std::string_view launcher = launcher_like(name); !launcher.empty()) {
        by_.launcher = launcher;
        by_.starts_everywhere =
            by_.starts_everywhere || (name != "sbatch" && reaches_nodes(launcher));
        by_.by_srun = by_.by_srun || name == "srun";
        note(at, at);
      } else if (name.starts_with("python")) {
        after_python_ = true;
      } else if (name == "env" || (after_env_ && sets_variable(word))) {
        after_env_ = true;
        if (const size_t equals = word.find('='); equals != word.npos)
          launch_.environment[word.substr(0, equals)] = word.substr(equals + 1);
      } else if (word == "-m" && after_python_ && at + 1 < words_.size()) {
        // The launchers' own modules; any other module is the program.
        const std::string& module = words_[++at].text;
        by_.launcher = module.starts_with("torch.distributed") ? "torchrun"
                       : module.starts_with("deepspeed")       ? "deepspeed"
                                                               : "accelerate";
        note(at - 1, at);
      } else {
        read_option(at);
      }
    }
    if (at >= words_.size()) return std::nullopt;
    for (size_t i = 0; i < at; ++i) launch_.launchers += words_[i].text + "\n";
    if (words_[at].text == "-m" || words_[at].text == "--module") ++at;
    launch_.program = words_[at].text;
    launch_.name = file_name(launch_.program);
    launch_.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(at) + 1, words_.end());
    if (launch_.name == kRunTrain) read_words_of_run_train();
    if (is_trl(launch_.program)) read_words_of_trl();
    if (file_name(launch_.program) == "axolotl") read_words_of_axolotl(at + 1);
    if (!is_swift(launch_)) launch_.foreign = foreign_framework();
    by_.first = file_name(words_.front().text);
    count_gpus(by_, run_, launch_);
    join_behind_colon(at);
    return std::move(launch_);
  }

 private:
  /// `mpirun -np 8 A : -np 8 A` starts more processes of the same job, or another program.
  void join_behind_colon(size_t program) {
    const auto is_colon = [](const ShellText& word) { return word.text == ":"; };
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(program);
    const auto colon = std::find_if(begin, words_.end(), is_colon);
    const auto launcher = std::find_if(words_.begin(), begin, [](const ShellText& word) {
      const std::string_view like = launcher_like(file_name(word.text));
      return like == "mpirun" || like == "srun";
    });
    if (colon == words_.end() || launcher == begin) return;
    launch_.arguments.erase(std::ranges::find_if(launch_.arguments, is_colon),
                            launch_.arguments.end());
    // Together they are on nodes that no part is told of.
    launch_.idle_nodes = 0;
    launch_.apart.clear();
    ShellCommand rest;
    rest.line = launch_.line;
    rest.environment = launch_.environment;
    rest.words.assign(1, *launcher);
    rest.words.insert(rest.words.end(), colon + 1, words_.end());
    auto other = LaunchReader(rest, run_).read();
    const bool is_same = other && other->name == launch_.name && launch_.gpus > 0 &&
                         other->gpus > 0 &&
                         std::ranges::equal(other->arguments, launch_.arguments, {},
                                            &ShellText::text, &ShellText::text);
    // torchrun and its like say in each part how many processes there are in all.
    const bool counts_all = by_.launcher != "mpirun" && by_.launcher != "srun";
    if (is_same && (!counts_all || other->gpus == launch_.gpus)) {
      launch_.gpus += counts_all ? 0 : other->gpus;
      launch_.gpus_from += fmt::format(" : {}", other->gpus_from);
      return;
    }
    if (other && other->arguments.size() > launch_.arguments.size()) launch_ = *std::move(other);
    launch_.gpus = launch_.node_gpus = launch_.idle_nodes = 0;
    launch_.gpus_from = "another command stands behind a colon, with other words";
  }
  /// The launcher whose options a launcher has; empty for other words.
  static std::string_view launcher_like(std::string_view name) {
    struct Launcher {
      std::string_view name, like;
    };
    constexpr std::array kLaunchers = std::to_array<Launcher>({{"srun", "srun"},
                                                               {"sbatch", "srun"},
                                                               {"flux", "srun"},
                                                               {"mpirun", "mpirun"},
                                                               {"mpiexec", "mpirun"},
                                                               {"horovodrun", "mpirun"},
                                                               {"aprun", "mpirun"},
                                                               {"prun", "mpirun"},
                                                               {"jsrun", "jsrun"},
                                                               {"torchrun", "torchrun"},
                                                               {"deepspeed", "deepspeed"},
                                                               {"accelerate", "accelerate"},
                                                               {"accelerate-launch", "accelerate"},
                                                               {"composer", "composer"},
                                                               {"colossalai", "colossalai"}});
    for (const Launcher& it : kLaunchers)
      if (it.name == name) return it.like;
    return "";
  }
  /// Launchers that start processes on other nodes; DeepSpeed's does where it has a hostfile.
  static bool reaches_nodes(std::string_view launcher) {
    return base::contains(
        std::to_array<std::string_view>({"srun", "mpirun", "jsrun", "colossalai"}), launcher);
  }
  /// `python -m pip install trl axolotl` names programs that it does not start.
  bool is_installation() const {
    constexpr std::array kInstallers = std::to_array<std::string_view>(
        {"pip", "pip3", "conda", "mamba", "micromamba", "apt", "apt-get"});
    for (size_t i = 1; i < words_.size(); ++i)
      if (words_[i].text == "install" && base::contains(kInstallers, file_name(words_[i - 1].text)))
        return true;
    return false;
  }
  /// `docker run -d`: it goes on while its container runs.
  bool is_detached() const {
    return std::ranges::any_of(words_,
                               [&](const ShellText& word) {
                                 return word.text == "-d" || word.text == "--detach" ||
                                        word.text == "-itd" || word.text == "-dit";
                               }) &&
           std::ranges::any_of(words_, [](const ShellText& word) {
             return file_name(word.text) == "docker" || file_name(word.text) == "podman";
           });
  }
  bool is_program(size_t at) const {
    const std::string& word = words_[at].text;
    if (is_front_end(word) || (is_trl(word) && at + 1 < words_.size())) return true;
    if (is_foreign(at)) return true;
    // Beside the script it is followed as any other.
    if (file_name(word) == kRunTrain)
      return !said("CONFIG_FILE").empty() || !said("CONFIG").empty();
    if (word.ends_with(".py") && !word.starts_with('-'))
      return at == 0 || words_[at - 1].text != "--hostfile";
    const bool starts_module = after_python_ || by_.launcher == "torchrun" ||
                               by_.launcher == "accelerate" || by_.launcher == "deepspeed";
    if ((word != "-m" && word != "--module") || !starts_module || at + 1 >= words_.size())
      return false;
    const std::string& module = words_[at + 1].text;
    return !module.starts_with("torch.distributed") && !module.starts_with("deepspeed.launch") &&
           !module.starts_with("accelerate.commands");
  }
  /// Front ends that are not read: `swift sft --model ...`.
  bool is_foreign(size_t at) const {
    struct FrontEnd {
      std::string_view program, command;
    };
    constexpr std::array kFrontEnds = std::to_array<FrontEnd>({{"swift", "sft"},
                                                               {"swift", "pt"},
                                                               {"swift", "rlhf"},
                                                               {"megatron", "sft"},
                                                               {"megatron", "pt"},
                                                               {"megatron", "rlhf"},
                                                               {"tune", "run"},
                                                               {"nemo", "llm"},
                                                               {"automodel", "finetune"},
                                                               {"automodel", "pretrain"},
                                                               {"primus-cli", "direct"},
                                                               {"primus-cli", "slurm"},
                                                               {"primus-cli", "container"},
                                                               {"litgpt", "pretrain"},
                                                               {"litgpt", "finetune"},
                                                               {"litgpt", "finetune_full"},
                                                               {"litgpt", "finetune_lora"},
                                                               {"litgpt", "finetune_adapter"},
                                                               {"litgpt", "finetune_adapter_v2"},
                                                               {"xtuner", "train"}});
    if (at + 1 >= words_.size()) return false;
    // `make train_gpt2cu` builds it.
    if (is_llm_c(words_[at].text)) return at == 0 || base::contains(words_[at].text, "/");
    if (file_name(words_[at].text).starts_with("fairseq-")) return true;
    return std::ranges::any_of(kFrontEnds, [&](const FrontEnd& it) {
      return file_name(words_[at].text) == it.program && words_[at + 1].text == it.command;
    });
  }
  void note(size_t begin, size_t end) {
    for (size_t i = begin; i <= end && i < words_.size(); ++i) {
      if (launch_.gpus_line == 0) launch_.gpus_line = words_[i].line;
      by_.shown += (by_.shown.empty() ? "" : " ") + words_[i].text;
    }
  }
  void read_option(size_t& at) {
    const size_t before = at;
    if (const CountingOptions* options = counting_options(by_.launcher))
      words_[at].text = spelt_out(words_[at].text, *options, by_.misspelt);
    const auto take = [&](std::string_view name, std::string& target, bool counts = true) {
      if (at != before) return;
      if (auto value = option_value(words_, at, name)) {
        target = *value;
        if (counts) note(before, at);
      }
    };
    if (by_.launcher == "srun") {
      if (read_slurm_option(words_, at, by_.slurm)) note(before, at);
      take("--het-group", by_.het_group, false);
      std::string nodes;
      for (const char* name : {"-w", "--nodelist", "-r", "--relative", "-x", "--exclude"})
        take(name, nodes, false);
      by_.picks_nodes = by_.picks_nodes || !nodes.empty();
    } else if (by_.launcher == "mpirun") {
      for (const char* name : {"-np", "-n", "--np", "--n", "-c"}) take(name, by_.mpi.tasks);
      for (const char* name : {"-npernode", "--npernode", "-N", "-ppn", "--ppn"})
        take(name, by_.mpi.tasks_per_node);
      for (const char* name : {"--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"})
        take(name, by_.hostfile, false);
      for (const char* name : {"-H", "--host", "-host"}) take(name, by_.hosts, false);
    } else if (by_.launcher == "jsrun") {
      for (const char* name : {"-n", "--nrs"}) take(name, by_.resource_sets);
      for (const char* name : {"-a", "--tasks-per-rs"}) take(name, by_.own.tasks_per_node);
      for (const char* name : {"-p", "--np"}) take(name, by_.own.tasks);
    } else if (by_.launcher == "torchrun") {
      take("--nnodes", by_.own.nodes);
      take("--nproc-per-node", by_.own.tasks_per_node);
    } else if (by_.launcher == "composer") {
      take("--world-size", by_.own.tasks);
      for (const char* name : {"-n", "--nproc"}) take(name, by_.own.tasks_per_node);
    } else if (by_.launcher == "colossalai") {
      take("--num-nodes", by_.own.nodes);
      take("--nproc-per-node", by_.own.tasks_per_node);
      take("--hostfile", by_.hostfile);
      take("--host", by_.hosts);
    } else if (by_.launcher == "deepspeed") {
      take("--include", by_.include);
      take("-i", by_.include);
      take("--exclude", by_.exclude);
      take("-e", by_.exclude);
      take("--num-nodes", by_.own.nodes);
      take("--num-gpus", by_.own.gpus_per_node);
      take("--hostfile", by_.hostfile);
      take("-H", by_.hostfile);
    } else if (by_.launcher == "accelerate") {
      read_word_of_accelerate(at);
    }
  }
  void read_word_of_accelerate(size_t& at) {
    const size_t begin = at;
    const std::string& word = words_[at].text;
    if (!word.starts_with("--")) return;
    const std::string name = name_in_word(word);
    ShellText value{"", words_[at].line};
    if (!is_accelerate_switch(name)) {
      const std::string dashed = "--" + base::dashed(name);
      const bool alone = word.find('=') == word.npos && at + 1 < words_.size() &&
                         words_[at + 1].text.starts_with('-');
      value.text = alone ? "(nothing)" : option_value(words_, at, dashed).value_or("(nothing)");
    }
    if (name == "num_processes") by_.own.tasks = value.text;
    if (name == "num_machines") by_.own.nodes = value.text;
    if (name == "config_file") launch_.accelerate_config = value.text;
    if (name == "num_processes" || name == "num_machines" || name == "config_file") note(begin, at);
    if (name != "config_file") launch_.accelerate_words.emplace_back(name, value);
  }
  /// The program's framework where it is one that is not read, whose words look like another's.
  std::string_view foreign_framework() const {
    struct Foreign {
      std::string_view word, framework;
    };
    constexpr std::array kForeign = std::to_array<Foreign>({{"openrlhf", "OpenRLHF"},
                                                            {"verl", "verl"},
                                                            {"litgpt", "LitGPT"},
                                                            {"nanotron", "nanotron"},
                                                            {"torchtune", "torchtune"},
                                                            {"colossalai", "ColossalAI"},
                                                            {"composer", "LLM Foundry"},
                                                            {"swift", "ms-swift"},
                                                            {"megatron", "ms-swift"},
                                                            {"MaxText", "MaxText"},
                                                            {"maxtext", "MaxText"},
                                                            {"levanter", "Levanter"},
                                                            {"nemo", "NeMo 2"},
                                                            {"automodel", "NeMo AutoModel"},
                                                            {"nemo_automodel", "NeMo AutoModel"},
                                                            {"fairseq-train", "fairseq"},
                                                            {"fairseq-hydra-train", "fairseq"},
                                                            {"open_lm", "OpenLM"},
                                                            {"xtuner", "XTuner"}});
    if (is_llm_c(launch_.program)) return "llm.c";
    if (base::contains(std::to_array<std::string_view>({"scripts.base_train", "scripts.mid_train",
                                                        "scripts.chat_sft", "scripts.chat_rl"}),
                       launch_.program))
      return "nanochat";
    for (const Foreign& it : kForeign) {
      if (std::any_of(words_.begin(), words_.end() - std::ssize(launch_.arguments) - 1,
                      [&](const ShellText& word) { return file_name(word.text) == it.word; }))
        return it.framework;
      if (launch_.program.starts_with(fmt::format("{}.", it.word)) && it.word != "megatron")
        return it.framework;
      if (file_name(launch_.program) == it.word) return it.framework;
      if (it.framework == "MaxText" &&
          base::contains(launch_.program, fmt::format("{}/train.py", it.word)))
        return it.framework;
    }
    return "";
  }
  /// torchtitan's run_train.sh: a node's GPUs, and the configuration of its variables with the
  /// words behind it.
  void read_words_of_run_train() {
    launch_.program = launch_.name = "torchtitan.train";
    LaunchWords own;
    const auto add = [&](const char* option, std::string_view variable) {
      if (const std::string value = said(variable); !value.empty())
        for (const std::string& word : {std::string(option), value})
          own.push_back({word, launch_.line});
    };
    add("--job.config_file", "CONFIG_FILE");
    add("--module", "MODULE");
    add("--config", "CONFIG");
    launch_.arguments.insert(launch_.arguments.begin(), own.begin(), own.end());
    by_.launcher = "torchrun";
    by_.own.tasks_per_node = said("NGPU").empty() ? "8" : said("NGPU");
    by_.shown = fmt::format("run_train.sh with NGPU={}", by_.own.tasks_per_node);
  }
  /// `trl sft` hands accelerate its own words; alone it takes what its node has.
  void read_words_of_trl() {
    if (by_.launcher.empty()) by_.launcher = "accelerate";
    LaunchWords& words = launch_.arguments;
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t begin = i;
      if (const auto config = option_value(words, i, "--accelerate-config"))
        launch_.accelerate_config = *config;
      else if (const auto tasks = option_value(words, i, "--num-processes"))
        by_.own.tasks = *tasks;
      else if (!option_value(words, i, "--num-machines"))
        continue;
      for (size_t at = begin; at <= i; ++at)
        by_.shown += (by_.shown.empty() ? "" : " ") + words[at].text;
      launch_.gpus_line = words[i].line;
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(begin),
                  words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      i = begin - 1;
    }
  }
  /// `axolotl train job.yml --launcher torchrun -- --nproc_per_node 8` starts a launcher by its
  /// words behind the dashes; without any it is accelerate, which takes what its node has.
  void read_words_of_axolotl(size_t begin) {
    LaunchWords kept;
    std::string launcher = "accelerate";
    size_t at = begin;
    for (; at < words_.size() && words_[at].text != "--"; ++at) {
      const size_t before = at;
      const auto name = option_value(words_, at, "--launcher");
      const auto tasks = option_value(words_, at, "--num-processes");
      if (name) launcher = *name;
      if (tasks) by_.own.tasks = *tasks;
      if (name || tasks)
        note(before, at);
      else
        kept.push_back(words_[at]);
    }
    launch_.arguments = std::move(kept);
    const std::string around = by_.launcher;
    by_.launcher = launcher;
    for (++at; at < words_.size(); ++at) read_option(at);
    if (launcher == "torchrun" && by_.own.tasks_per_node.empty())
      by_.own.tasks_per_node = by_.own.tasks;
    // Alone, one process; accelerate takes what a node has where no word says less.
    if (launcher == "python") by_.launcher = around.empty() ? "torchrun" : around;
    if (launcher == "accelerate" && by_.own.tasks.empty()) by_.launcher = around;
  }
  /// A variable of the program; empty: not set.
  std::string said(std::string_view name) const {
    return base::value_or(launch_.environment, name, std::string());
  }

  static constexpr std::string_view kRunTrain = "run_train.sh";

  LaunchWords words_;
  const ShellRun& run_;
  Launch launch_;
  LauncherWords by_;
  bool after_python_ = false, after_env_ = false;
};

}  // namespace

bool is_front_end(std::string_view program) {
  const std::string_view name = file_name(program);
  return name == "axolotl" || program == "axolotl.cli.train" || is_llama_factory(program);
}

bool is_llama_factory(std::string_view program) {
  return file_name(program) == "llamafactory-cli" || program == "llamafactory.cli";
}

bool is_swift(const Launch& launch) {
  const auto trains = [](std::string_view command) { return command == "sft" || command == "pt"; };
  const std::string_view name = file_name(launch.program);
  if (name == "swift" || name == "megatron")
    return !launch.arguments.empty() && trains(launch.arguments.front().text);
  return base::contains(launch.program, "swift/cli/") && name.ends_with(".py") &&
         trains(name.substr(0, name.size() - 3));
}

bool is_primus(std::string_view program) { return file_name(program) == "primus-cli"; }

bool is_tune(const Launch& launch) {
  return file_name(launch.program) == "tune" && !launch.arguments.empty() &&
         launch.arguments.front().text == "run";
}

bool is_trl(std::string_view program) {
  return file_name(program) == "trl" || program == "trl.cli";
}

bool is_script_of_trl(std::string_view program) {
  return std::ranges::any_of(
      std::to_array<std::string_view>({"trl.scripts.", "trl/scripts/", "examples/scripts/"}),
      [&](std::string_view folder) { return program.find(folder) != program.npos; });
}

bool is_launcher(std::string_view word) {
  return is_wrapper(word) || is_front_end(word) || is_trl(word);
}

std::optional<Launch> launch_of(const ShellCommand& command, const ShellRun& run) {
  return LaunchReader(command, run).read();
}

}  // namespace ergometer::intake
