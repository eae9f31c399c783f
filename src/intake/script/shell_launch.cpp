#include "intake/script/shell_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/programs/accelerate_words.h"
#include "intake/programs/deepspeed_hosts.h"
#include "intake/programs/launcher_options.h"
#include "intake/research/llm_c.h"
#include "intake/script/inner_shell.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

using LaunchWords = std::vector<ShellText>;

class LaunchReader {
 public:
  LaunchReader(const ShellCommand& command, const ShellRun& run)
      : words_(command.words), run_(run), starts_everywhere_(command.is_remote) {
    launch_.line = command.line;
    launch_.depends_on = command.depends_on;
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
        launcher_ = launcher;
        starts_everywhere_ = starts_everywhere_ || (name != "sbatch" && reaches_nodes(launcher));
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
        launcher_ = module.starts_with("torch.distributed") ? "torchrun"
                    : module.starts_with("deepspeed")       ? "deepspeed"
                                                            : "accelerate";
        note(at - 1, at);
      } else {
        read_option(at);
      }
    }
    if (at >= words_.size()) return std::nullopt;
    if (words_[at].text == "-m" || words_[at].text == "--module") ++at;
    launch_.program = words_[at].text;
    launch_.name = file_name(launch_.program);
    launch_.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(at) + 1, words_.end());
    if (launch_.name == kRunTrain) read_words_of_run_train();
    if (is_trl(launch_.program)) read_words_of_trl();
    if (file_name(launch_.program) == "axolotl") read_words_of_axolotl(at + 1);
    if (!is_swift(launch_)) launch_.foreign = foreign_framework();
    count();
    return std::move(launch_);
  }

 private:
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
  /// Launchers that start processes on other nodes.
  static bool reaches_nodes(std::string_view launcher) {
    return base::contains(
        std::to_array<std::string_view>({"srun", "mpirun", "jsrun", "deepspeed", "colossalai"}),
        launcher);
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
  bool is_program(size_t at) const {
    const std::string& word = words_[at].text;
    if (is_front_end(word) || (is_trl(word) && at + 1 < words_.size())) return true;
    if (is_foreign(at)) return true;
    // Beside the script it is followed as any other.
    if (file_name(word) == kRunTrain)
      return !said("CONFIG_FILE").empty() || !said("CONFIG").empty();
    if (word.ends_with(".py") && !word.starts_with('-'))
      return at == 0 || words_[at - 1].text != "--hostfile";
    const bool starts_module = after_python_ || launcher_ == "torchrun" ||
                               launcher_ == "accelerate" || launcher_ == "deepspeed";
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
      shown_ += (shown_.empty() ? "" : " ") + words_[i].text;
    }
  }
  void read_option(size_t& at) {
    const size_t before = at;
    const auto take = [&](std::string_view name, std::string& target, bool counts = true) {
      if (at != before) return;
      if (auto value = option_value(words_, at, name)) {
        target = *value;
        if (counts) note(before, at);
      }
    };
    if (launcher_ == "srun") {
      if (read_slurm_option(words_, at, slurm_)) note(before, at);
      take("--het-group", het_group_, false);
    } else if (launcher_ == "mpirun") {
      for (const char* name : {"-np", "-n", "--np", "--n", "-c"}) take(name, mpi_.tasks);
      for (const char* name : {"-npernode", "--npernode", "-N", "-ppn", "--ppn"})
        take(name, mpi_.tasks_per_node);
      for (const char* name : {"--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"})
        take(name, hostfile_, false);
      for (const char* name : {"-H", "--host", "-host"}) take(name, hosts_, false);
    } else if (launcher_ == "jsrun") {
      for (const char* name : {"-n", "--nrs"}) take(name, resource_sets_);
      for (const char* name : {"-a", "--tasks-per-rs"}) take(name, own_.tasks_per_node);
      for (const char* name : {"-p", "--np"}) take(name, own_.tasks);
    } else if (launcher_ == "torchrun") {
      take("--nnodes", own_.nodes);
      take("--nproc-per-node", own_.tasks_per_node);
    } else if (launcher_ == "composer") {
      take("--world-size", own_.tasks);
      for (const char* name : {"-n", "--nproc"}) take(name, own_.tasks_per_node);
    } else if (launcher_ == "colossalai") {
      take("--num-nodes", own_.nodes);
      take("--nproc-per-node", own_.tasks_per_node);
      take("--hostfile", hostfile_);
      take("--host", hosts_);
    } else if (launcher_ == "deepspeed") {
      take("--include", include_);
      take("-i", include_);
      take("--exclude", exclude_);
      take("-e", exclude_);
      take("--num-nodes", own_.nodes);
      take("--num-gpus", own_.gpus_per_node);
      take("--hostfile", hostfile_);
      take("-H", hostfile_);
    } else if (launcher_ == "accelerate") {
      read_word_of_accelerate(at);
    }
  }
  void read_word_of_accelerate(size_t& at) {
    const size_t begin = at;
    const std::string& word = words_[at].text;
    if (!word.starts_with("--")) return;
    std::string name = word.substr(2, word.find('=') == word.npos ? word.npos : word.find('=') - 2);
    std::ranges::replace(name, '-', '_');
    ShellText value{"", words_[at].line};
    if (!is_accelerate_switch(name)) {
      std::string dashed = "--" + name;
      std::ranges::replace(dashed, '_', '-');
      const bool alone = word.find('=') == word.npos && at + 1 < words_.size() &&
                         words_[at + 1].text.starts_with('-');
      value.text = alone ? "(nothing)" : option_value(words_, at, dashed).value_or("(nothing)");
    }
    if (name == "num_processes") own_.tasks = value.text;
    if (name == "num_machines") own_.nodes = value.text;
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
    launcher_ = "torchrun";
    own_.tasks_per_node = said("NGPU").empty() ? "8" : said("NGPU");
    shown_ = fmt::format("run_train.sh with NGPU={}", own_.tasks_per_node);
  }
  /// `trl sft` hands accelerate its own words; alone it takes what its node has.
  void read_words_of_trl() {
    if (launcher_.empty()) launcher_ = "accelerate";
    LaunchWords& words = launch_.arguments;
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t begin = i;
      if (const auto config = option_value(words, i, "--accelerate-config"))
        launch_.accelerate_config = *config;
      else if (const auto tasks = option_value(words, i, "--num-processes"))
        own_.tasks = *tasks;
      else if (!option_value(words, i, "--num-machines"))
        continue;
      for (size_t at = begin; at <= i; ++at) shown_ += (shown_.empty() ? "" : " ") + words[at].text;
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
      if (tasks) own_.tasks = *tasks;
      if (name || tasks)
        note(before, at);
      else
        kept.push_back(words_[at]);
    }
    launch_.arguments = std::move(kept);
    const std::string around = launcher_;
    launcher_ = launcher;
    for (++at; at < words_.size(); ++at) read_option(at);
    if (launcher == "torchrun" && own_.tasks_per_node.empty()) own_.tasks_per_node = own_.tasks;
    // Alone, one process; accelerate takes what a node has where no word says less.
    if (launcher == "python") launcher_ = around.empty() ? "torchrun" : around;
    if (launcher == "accelerate" && own_.tasks.empty()) launcher_ = around;
  }
  /// A number, or 0 with the reason kept.
  int64_t known(const std::string& text, std::string_view what) {
    if (ShellUnknowns::in(text)) {
      why_ = fmt::format("{} depends on {}", what, run_.session.unknowns.entry(text).reason);
      return 0;
    }
    const int64_t number = launcher_number(text);
    if (number == 0 && !text.empty()) why_ = fmt::format("{} is \"{}\"", what, text);
    return number;
  }
  void count() {
    // These start a process for every GPU that their own words or files say.
    if (is_tune(launch_) || launch_.foreign == "LitGPT" ||
        file_name(launch_.program) == "automodel")
      return;
    // Its variables and lines are those of the first part of a job of unlike parts.
    const bool of_first = het_group_.empty() || het_group_ == "0";
    const BatchRequest batch = of_first ? run_.session.batch : BatchRequest();
    const int64_t slurm_nodes = slurm_.nodes.empty() ? batch.nodes : known(slurm_.nodes, "--nodes");
    const int64_t on_node = !slurm_.gpus_per_node.empty()
                                ? known(slurm_.gpus_per_node, "--gpus-per-node")
                                : batch.gpus_per_node;
    int64_t gpus = 0;
    if (launch_.foreign == "MaxText") {
      gpus = of_jax(slurm_nodes, on_node);
    } else if (launch_.foreign == "XTuner" && !launch_.program.ends_with(".py")) {
      gpus = of_xtuner();
    } else if (is_swift(launch_) && !launch_.program.ends_with(".py")) {
      gpus = of_swift();
    } else if (is_primus(launch_.program)) {
      gpus = of_primus();
    } else if (launcher_ == "torchrun") {
      // What its words leave open, variables may say.
      if (own_.nodes.empty()) own_.nodes = said("PET_NNODES");
      if (own_.tasks_per_node.empty()) own_.tasks_per_node = said("PET_NPROC_PER_NODE");
      const int64_t nodes = own_.nodes.empty() ? 1 : known(own_.nodes, "--nnodes");
      const bool all = own_.tasks_per_node == "gpu" || own_.tasks_per_node == "auto";
      const int64_t each = own_.tasks_per_node.empty() ? 1
                           : all && on_node == 0       ? seen()
                           : all                       ? on_node
                                 : known(own_.tasks_per_node, "--nproc-per-node");
      if (all && each == 0 && why_.empty()) why_ = "--nproc-per-node takes what a node has";
      gpus = nodes * each;
      if (own_.nodes.empty() && slurm_nodes > 1 && gpus > 0 && starts_everywhere_)
        launch_.apart = fmt::format(
            "torchrun without --nnodes is one node's: each of the {} nodes trains by itself, on {} "
            "GPUs",
            slurm_nodes, gpus);
    } else if (launcher_ == "deepspeed") {
      gpus = of_deepspeed();
    } else if (launcher_ == "composer") {
      gpus = of_composer(on_node);
    } else if (launcher_ == "colossalai") {
      gpus = nodes_of_colossalai() * known(own_.tasks_per_node, "--nproc_per_node");
    } else if (launcher_ == "accelerate") {
      gpus = known(own_.tasks, "--num_processes");
      // Not known is not unsaid: a file of accelerate's does not count then.
      launch_.gpus_is_open = gpus == 0 && !own_.tasks.empty();
      if (own_.tasks.empty() && own_.nodes.empty() && launch_.accelerate_config.empty())
        gpus = seen();
    } else if (launcher_ == "jsrun" && !is_front_end(launch_.program)) {
      gpus = of_jsrun();
    } else if (launcher_ == "mpirun" && !is_front_end(launch_.program)) {
      gpus = known(mpi_.tasks, "-np");
      if (gpus == 0 && !mpi_.tasks_per_node.empty())
        gpus = known(mpi_.tasks_per_node, "processes per node") * slurm_nodes;
      if (gpus == 0 && why_.empty() && mpi_.tasks_per_node.empty()) gpus = slots_of_mpi();
    } else if (is_front_end(launch_.program)) {
      gpus = of_front_end(on_node);
    } else if (launcher_ == "srun") {
      gpus = slurm_.tasks.empty() ? 0 : known(slurm_.tasks, "--ntasks");
      if (gpus == 0 && !slurm_.tasks_per_node.empty())
        gpus = slurm_nodes * known(slurm_.tasks_per_node, "--ntasks-per-node");
      if (gpus == 0) gpus = batch.tasks > 0 ? batch.tasks : slurm_nodes * batch.tasks_per_node;
    } else if (launcher_.empty()) {
      gpus = of_no_launcher(on_node);
    }
    if (gpus == 0 && why_.empty() && !launcher_.empty())
      why_ = fmt::format("{} is not told how many processes it starts", launcher_);
    launch_.gpus = gpus;
    if (const int64_t each = of_each_node(on_node); each > 0 && gpus > each && gpus % each == 0)
      launch_.node_gpus = each;
    launch_.gpus_from = gpus > 0 ? shown_ : why_;
    if (launch_.gpus_line == 0) launch_.gpus_line = launch_.line;
    look_at_other_nodes(slurm_nodes);
  }
  /// Slurm starts a batch script on the first of its nodes; the others run what srun, or another
  /// launcher that reaches them, starts there.
  void look_at_other_nodes(int64_t nodes) {
    const std::string_view first = file_name(words_.front().text);
    const bool is_known = first == launch_.name || first.starts_with("python") ||
                          (is_launcher(first) && first != "salloc" && first != "blaunch");
    // deepy.py starts DeepSpeed's launcher, Primus srun, JAX what it is told of by Slurm.
    const bool starts_others = launch_.name == "deepy.py" || is_primus(launch_.program) ||
                               launch_.foreign == "MaxText" || !launch_.accelerate_config.empty();
    if (nodes < 2 || !run_.session.is_batch || starts_everywhere_ || starts_others || !is_known)
      return;
    const bool reads_variable =
        is_front_end(launch_.program) || is_swift(launch_) || launch_.foreign == "XTuner";
    launch_.idle_nodes = nodes - 1;
    launch_.awaits_nodes = launcher_number(reads_variable ? said("NNODES") : own_.nodes) > 1;
  }
  /// Primus starts torchrun on the nodes of Slurm's words in front of its dashes.
  int64_t of_primus() {
    LauncherCounts counts;
    for (size_t at = 0; at < launch_.arguments.size() && launch_.arguments[at].text != "--"; ++at)
      read_slurm_option(launch_.arguments, at, counts);
    constexpr const char* kDefault = "8";
    const std::string nodes = counts.nodes.empty() ? said("NNODES") : counts.nodes;
    own_.nodes = nodes.empty() ? "1" : nodes;
    own_.tasks_per_node = said("GPUS_PER_NODE").empty() ? kDefault : said("GPUS_PER_NODE");
    shown_ =
        fmt::format("primus-cli with NNODES={} GPUS_PER_NODE={}", own_.nodes, own_.tasks_per_node);
    return known(own_.nodes, "NNODES") * known(own_.tasks_per_node, "GPUS_PER_NODE");
  }
  /// Processes, one a GPU, that each node gets; 0: not said.
  int64_t of_each_node(int64_t on_node) const {
    const bool by_slurm = launcher_ == "srun";
    const int64_t machines = launcher_number(own_.nodes), tasks = launcher_number(own_.tasks);
    if (launcher_ == "accelerate" && machines > 0) return tasks / machines;
    if (launch_.foreign == "MaxText") return on_node;
    for (const std::string& said : {own_.tasks_per_node, own_.gpus_per_node, mpi_.tasks_per_node,
                                    by_slurm ? slurm_.tasks_per_node : std::string()})
      if (const int64_t number = launcher_number(said); number > 0) return number;
    if (launcher_ == "jsrun") return 0;
    const int64_t of_batch = run_.session.batch.tasks_per_node;
    return by_slurm && of_batch > 0 ? of_batch : on_node;
  }
  /// Something else starts a process for every GPU where a variable says how many there are; else
  /// it is one process, which sees the GPUs of its node.
  int64_t of_no_launcher(int64_t on_node) {
    if (const std::string ranks = said("WORLD_SIZE"); !ranks.empty()) {
      shown_ = "WORLD_SIZE=" + ranks;
      return known(ranks, "WORLD_SIZE");
    }
    const std::string_view first = file_name(words_.front().text);
    if (first != launch_.name && !first.starts_with("python") && !is_wrapper(first)) {
      why_ = fmt::format("{} is no launcher that is known here", first);
      return 0;
    }
    launch_.is_alone = true;
    launch_.visible = visible_gpus(launch_.environment);
    if (!launch_.visible && on_node > 0)
      launch_.visible = VisibleGpus{on_node, "the GPUs of the batch's node"};
    return 0;
  }
  /// The number of GPUs that variables let the program see; 0: they do not say, or not known.
  int64_t seen() {
    const auto visible = visible_gpus(launch_.environment);
    if (!visible) return 0;
    if (visible->count == 0) {
      why_ = fmt::format("{} depends on {}", visible->said.substr(0, visible->said.find('=')),
                         run_.session.unknowns.entry(visible->said).reason);
      return 0;
    }
    shown_ += fmt::format("{}{}", shown_.empty() ? "" : " with ", visible->said);
    return visible->count;
  }
  /// A variable of the program; empty: not set.
  std::string said(std::string_view name) const {
    return base::value_or(launch_.environment, name, std::string());
  }
  /// As many ranks as it is told of, or a node's own.
  int64_t of_composer(int64_t on_node) {
    if (own_.tasks.empty()) own_.tasks = said("WORLD_SIZE");
    if (!own_.tasks.empty()) return known(own_.tasks, "--world_size");
    if (!own_.tasks_per_node.empty()) return known(own_.tasks_per_node, "--nproc");
    if (on_node == 0) why_ = "composer takes all that its node has";
    return on_node;
  }
  /// As many as it is told of, or all hosts of its list.
  int64_t nodes_of_colossalai() {
    if (!own_.nodes.empty() && own_.nodes != "-1") return known(own_.nodes, "--num_nodes");
    const std::string text = hosts_.empty() ? hostfile() : hosts_;
    int64_t hosts = 0;
    for (const std::string& host : base::split(text, hosts_.empty() ? '\n' : ','))
      hosts += host.find_first_not_of(" \t\r") == host.npos || host.starts_with('#') ? 0 : 1;
    return std::max<int64_t>(hosts, 1);
  }
  /// Without a number of processes mpirun fills the slots of its hosts, or its batch; 0 where a
  /// host has as many as it has cores.
  int64_t slots_of_mpi() {
    if (hosts_.empty() && hostfile_ == kNoHostfile) return run_.session.batch.tasks;
    const std::string_view mark = hosts_.empty() ? "slots=" : ":";
    int64_t all = 0;
    for (const std::string& host :
         hosts_.empty() ? base::split(hostfile(), '\n') : base::split(hosts_, ',')) {
      if (host.find_first_not_of(" \t\r") == host.npos || host.starts_with('#')) continue;
      const size_t at = host.find(mark);
      const std::string rest = at == host.npos ? "" : host.substr(at + mark.size());
      const int64_t slots = launcher_number(rest.substr(0, rest.find_first_of(" \t\r#")));
      if (slots == 0) return 0;
      all += slots;
    }
    shown_ += fmt::format(" with the slots of {}", hosts_.empty() ? hostfile_ : hosts_);
    return all;
  }
  /// LLaMA-Factory starts torchrun itself, on every node, and is told of nodes by variables.
  int64_t of_front_end(int64_t on_node) {
    const bool told = is_llama_factory(launch_.program);
    const std::string nodes = told ? said("NNODES") : "", each = told ? said("NPROC_PER_NODE") : "";
    const int64_t count = nodes.empty() ? told || launcher_.empty() ? 1 : nodes_of_launcher()
                                        : known(nodes, "NNODES");
    const bool lists = each.empty() && visible_gpus(launch_.environment).has_value();
    const std::string by = std::exchange(shown_, "");
    const int64_t seen_ones = lists ? seen() : 0;
    const std::string list = std::exchange(shown_, by);
    const int64_t gpus = !each.empty() ? known(each, "NPROC_PER_NODE")
                         : lists       ? seen_ones
                                       : on_node;
    if (why_.empty() && gpus == 0)
      why_ = fmt::format("it takes all that its nodes have{}",
                         nodes.empty() ? "" : fmt::format(", and NNODES is {}", nodes));
    for (const auto& [name, value] : {std::pair("NNODES", nodes), {"NPROC_PER_NODE", each}})
      if (!value.empty()) shown_ += fmt::format("{}{}={}", shown_.empty() ? "" : " ", name, value);
    if (lists && gpus != on_node)
      shown_ += fmt::format("{}{}", shown_.empty() ? "" : " ", list);
    else if (each.empty())
      shown_ += fmt::format("{}GPUs of a node", shown_.empty() ? "" : ", ");
    return count * gpus;
  }
  /// ms-swift starts torchrun where it is told of processes; alone, one process spreads the layers
  /// over all GPUs that it sees.
  int64_t of_swift() {
    const std::string nodes = said("NNODES"), each = said("NPROC_PER_NODE");
    const auto visible = visible_gpus(launch_.environment);
    const bool one = each.empty() && nodes.empty() && visible && visible->count == 1;
    if (each.empty() && !one) {
      why_ = "without NPROC_PER_NODE it takes the GPUs that it sees, as one process";
      return 0;
    }
    for (const auto& [name, value] : {std::pair("NNODES", nodes), {"NPROC_PER_NODE", each}})
      if (!value.empty()) shown_ += fmt::format("{}{}={}", shown_.empty() ? "" : " ", name, value);
    if (one) shown_ = visible->said;
    const int64_t count = nodes.empty() ? 1 : known(nodes, "NNODES");
    return count * (one ? 1 : known(each, "NPROC_PER_NODE"));
  }
  /// One process a node drives all its GPUs, or each process one.
  int64_t of_jax(int64_t nodes, int64_t on_node) {
    // Where a launcher of PyTorch counts processes, each has a GPU.
    if (launcher_ == "torchrun" && launcher_number(own_.tasks_per_node) > 1)
      return std::max<int64_t>(1, launcher_number(own_.nodes)) *
             known(own_.tasks_per_node, "--nproc-per-node");
    if (on_node == 0) {
      if (!launcher_.empty()) why_ = "a process of JAX drives all GPUs of its node";
      return 0;
    }
    if (shown_.empty()) shown_ = "the nodes of the batch, all their GPUs";
    return std::max<int64_t>(1, nodes) * on_node;
  }
  /// XTuner starts torchrun where it is told of processes; Slurm starts one for every task.
  int64_t of_xtuner() {
    const std::string nodes = said("NNODES"), each = said("NPROC_PER_NODE");
    if (launcher_ == "srun" && each.empty()) {
      const BatchRequest& batch = run_.session.batch;
      if (!slurm_.tasks.empty()) return known(slurm_.tasks, "--ntasks");
      if (batch.tasks > 0) return batch.tasks;
      const std::string by = slurm_.tasks_per_node;
      return nodes_of_launcher() *
             (by.empty() ? batch.tasks_per_node : known(by, "--ntasks-per-node"));
    }
    for (const auto& [name, value] : {std::pair("NNODES", nodes), {"NPROC_PER_NODE", each}})
      if (!value.empty()) shown_ += fmt::format("{}{}={}", shown_.empty() ? "" : " ", name, value);
    if (shown_.empty()) shown_ = "xtuner train without NPROC_PER_NODE";
    return (nodes.empty() ? 1 : known(nodes, "NNODES")) *
           (each.empty() ? 1 : known(each, "NPROC_PER_NODE"));
  }
  /// Resource sets with as many processes each; a process drives one GPU.
  int64_t of_jsrun() {
    if (!own_.tasks.empty()) return known(own_.tasks, "--np");
    if (resource_sets_.empty()) return 0;
    return known(resource_sets_, "--nrs") *
           (own_.tasks_per_node.empty() ? 1 : known(own_.tasks_per_node, "--tasks_per_rs"));
  }
  int64_t nodes_of_launcher() const {
    return std::max<int64_t>({1, run_.session.batch.nodes, launcher_number(slurm_.nodes)});
  }
  /// By a hostfile that the script wrote, or one beside it, and what is said of its hosts.
  int64_t of_deepspeed() {
    DeepSpeedHosts hosts{hostfile(), include_, exclude_, 0, 0};
    for (const auto& [text, name] : {std::pair(include_, "--include"), {exclude_, "--exclude"}})
      if (ShellUnknowns::in(text)) {
        why_ = fmt::format("{} depends on {}", name, run_.session.unknowns.entry(text).reason);
        return 0;
      }
    if (!own_.nodes.empty()) hosts.nodes = known(own_.nodes, "--num_nodes");
    if (!own_.gpus_per_node.empty()) hosts.gpus = known(own_.gpus_per_node, "--num_gpus");
    if (!why_.empty()) return 0;
    // As an --include of this host.
    if (hosts.nodes == 0 && hosts.gpus == 0 && hosts.hostfile.empty() && include_.empty() &&
        exclude_.empty() && visible_gpus(launch_.environment))
      return seen();
    const auto gpus = deepspeed_gpus(hosts);
    if (!gpus) why_ = gpus.error().message;
    return gpus.value_or(0);
  }
  std::string hostfile() const {
    std::string text;
    if (const auto it = run_.state.files.find(hostfile_); it != run_.state.files.end())
      text = it->second;
    else if (const std::string file = file_beside(hostfile_, run_.session.files.front());
             !file.empty())
      if (auto read = base::read_file(file, spec::kLargestWritten)) text = std::move(*read);
    return text;
  }

  static constexpr std::string_view kRunTrain = "run_train.sh";

  const LaunchWords& words_;
  const ShellRun& run_;
  Launch launch_;
  std::string launcher_;
  bool after_python_ = false, after_env_ = false, starts_everywhere_ = false;
  LauncherCounts slurm_, mpi_, own_;
  static constexpr std::string_view kNoHostfile = "/job/hostfile";  ///< DeepSpeed's own place
  std::string hostfile_{kNoHostfile}, hosts_, het_group_, include_, exclude_, resource_sets_, why_,
      shown_;
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
