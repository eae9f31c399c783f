#include "intake/script/launch_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/collection.h"
#include "base/file.h"
#include "base/text.h"
#include "intake/config/deepspeed.h"
#include "intake/programs/deepspeed_hosts.h"
#include "intake/script/inner_shell.h"
#include "spec/catalog/read.h"

namespace ergometer::intake {
namespace {

class GpuCount {
 public:
  GpuCount(LauncherWords by, const ShellRun& run, Launch& launch)
      : by_(std::move(by)), run_(run), launch_(launch) {}

  void count() {
    // These start a process for every GPU that their own words or files say.
    if (is_tune(launch_) || launch_.foreign == "LitGPT" ||
        file_name(launch_.program) == "automodel")
      return;
    // Its variables and lines are those of the first part of a job of unlike parts.
    const bool of_first = by_.het_group.empty() || by_.het_group == "0";
    const BatchRequest batch = of_first ? run_.session.batch : BatchRequest();
    const int64_t slurm_nodes =
        by_.slurm.nodes.empty() ? batch.nodes : known(by_.slurm.nodes, "--nodes");
    const int64_t on_node = !by_.slurm.gpus_per_node.empty()
                                ? known(by_.slurm.gpus_per_node, "--gpus-per-node")
                                : batch.gpus_per_node;
    int64_t gpus = gpus_of(batch, slurm_nodes, on_node);
    // Its launcher, or sbatch, stops at it.
    if (const std::string& wrong = by_.misspelt.empty() ? run_.session.misspelt : by_.misspelt;
        !wrong.empty()) {
      gpus = 0;
      why_ = wrong;
    }
    if (gpus == 0 && why_.empty() && !by_.launcher.empty())
      why_ = fmt::format("{} is not told how many processes it starts", by_.launcher);
    launch_.gpus = gpus;
    if (const int64_t each = of_each_node(on_node); each > 0 && gpus > each && gpus % each == 0)
      launch_.node_gpus = each;
    launch_.gpus_from = gpus > 0 ? by_.shown : why_;
    if (launch_.gpus_line == 0) launch_.gpus_line = launch_.line;
    look_at_other_nodes(on_node);
  }

 private:
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
  int64_t gpus_of(const BatchRequest& batch, int64_t slurm_nodes, int64_t on_node) {
    const bool starts_itself = !launch_.program.ends_with(".py");
    const std::string& launcher = by_.launcher;
    if (launch_.foreign == "MaxText") return of_jax(slurm_nodes, on_node);
    if (launch_.foreign == "XTuner" && starts_itself) return of_xtuner();
    if (is_swift(launch_) && starts_itself) return of_swift();
    if (is_primus(launch_.program)) return of_primus();
    if (launcher == "torchrun") return of_torchrun(slurm_nodes, on_node);
    if (launcher == "deepspeed") return of_deepspeed();
    if (launcher == "composer") return of_composer(on_node);
    if (launcher == "colossalai")
      return nodes_of_colossalai() * known(by_.own.tasks_per_node, "--nproc_per_node");
    if (launcher == "accelerate") return of_accelerate();
    if (is_front_end(launch_.program)) return of_front_end(on_node);
    if (launcher == "jsrun") return of_jsrun();
    if (launcher == "mpirun") return of_mpirun(slurm_nodes);
    if (launcher == "srun") return of_srun(batch, slurm_nodes, on_node);
    return launcher.empty() ? of_no_launcher(on_node) : 0;
  }
  int64_t of_torchrun(int64_t slurm_nodes, int64_t on_node) {
    // What its words leave open, variables may say.
    if (by_.own.nodes.empty()) by_.own.nodes = said("PET_NNODES");
    std::string& tasks = by_.own.tasks_per_node;
    if (tasks.empty()) tasks = said("PET_NPROC_PER_NODE");
    const int64_t nodes = by_.own.nodes.empty() ? 1 : known(by_.own.nodes, "--nnodes");
    const bool all = tasks == "gpu" || tasks == "auto";
    const int64_t each = tasks.empty()         ? 1
                         : all && on_node == 0 ? seen()
                         : all                 ? on_node
                                               : known(tasks, "--nproc-per-node");
    if (all && each == 0 && why_.empty()) why_ = "--nproc-per-node takes what a node has";
    const int64_t gpus = nodes * each;
    if (by_.own.nodes.empty() && slurm_nodes > 1 && gpus > 0 && by_.starts_everywhere)
      launch_.apart = fmt::format(
          "torchrun without --nnodes is one node's: each of the {} nodes trains by itself, on {} "
          "GPUs",
          slurm_nodes, gpus);
    return gpus;
  }
  int64_t of_accelerate() {
    const int64_t gpus = known(by_.own.tasks, "--num_processes");
    // Not known is not unsaid: a file of accelerate's does not count then.
    launch_.gpus_is_open = gpus == 0 && !by_.own.tasks.empty();
    const bool unsaid =
        by_.own.tasks.empty() && by_.own.nodes.empty() && launch_.accelerate_config.empty();
    return unsaid ? seen() : gpus;
  }
  int64_t of_mpirun(int64_t slurm_nodes) {
    if (const int64_t gpus = known(by_.mpi.tasks, "-np"); gpus > 0) return gpus;
    if (!by_.mpi.tasks_per_node.empty())
      return known(by_.mpi.tasks_per_node, "processes per node") * slurm_nodes;
    return why_.empty() ? slots_of_mpi() : 0;
  }
  int64_t of_srun(const BatchRequest& batch, int64_t slurm_nodes, int64_t on_node) {
    int64_t gpus = by_.slurm.tasks.empty() ? 0 : known(by_.slurm.tasks, "--ntasks");
    if (gpus == 0 && !by_.slurm.tasks_per_node.empty())
      gpus = slurm_nodes * known(by_.slurm.tasks_per_node, "--ntasks-per-node");
    if (gpus == 0) gpus = by_.slurm.tasks_of_gpus(slurm_nodes, on_node);
    if (gpus > 0) return gpus;
    return batch.tasks > 0 ? batch.tasks : slurm_nodes * batch.tasks_per_node;
  }
  /// Nodes of a batch of so many on which srun starts something: as many as it is told of, and no
  /// more than processes.
  int64_t reached_by_srun(int64_t nodes) const {
    int64_t reached = nodes;
    for (const std::string& said : {by_.slurm.nodes, by_.slurm.tasks})
      if (const int64_t number = launcher_number(said); number > 0)
        reached = std::min(reached, number);
    return reached;
  }
  /// Slurm starts a batch script on the first of its nodes; the others run what srun, or another
  /// launcher that reaches them, starts there.
  void look_at_other_nodes(int64_t on_node) {
    const bool by_srun = by_.by_srun && by_.het_group.empty() && !by_.picks_nodes;
    const BatchRequest& batch = run_.session.batch;
    const int64_t nodes =
        by_srun || by_.slurm.nodes.empty() ? batch.nodes : launcher_number(by_.slurm.nodes);
    launch_.is_by_srun = by_srun;
    launch_.started_on = by_srun ? reached_by_srun(nodes) : 1;
    const std::string_view first = by_.first;
    const bool is_known = first == launch_.name || first.starts_with("python") ||
                          (is_launcher(first) && first != "salloc" && first != "blaunch");
    // deepy.py starts DeepSpeed's launcher, Primus srun, JAX what it is told of by Slurm.
    const bool starts_others =
        launch_.name == "deepy.py" || is_primus(launch_.program) || launch_.foreign == "MaxText";
    await_nodes(on_node);
    if (!run_.session.is_batch || launch_.started_on >= nodes || starts_others ||
        (by_.starts_everywhere && !by_srun) || deepspeed_reaches_hosts() || !is_known)
      return;
    launch_.idle_nodes = nodes - launch_.started_on;
  }
  void await_nodes(int64_t on_node) {
    const bool starts_torchrun =
        is_llama_factory(launch_.program) || is_swift(launch_) || launch_.foreign == "XTuner";
    const std::string told =
        starts_torchrun && by_.launcher != "torchrun" ? said("NNODES") : by_.own.nodes;
    const std::string_view include = by_.include;
    const bool is_here = include.starts_with("localhost:") && !base::contains(include, "@");
    const bool is_one =
        told.empty() && (by_.launcher == "torchrun" || is_here ||
                         (by_.launcher == "accelerate" && launch_.accelerate_config.empty()));
    // Of an elastic job's MIN:MAX nodes it waits for the fewest.
    launch_.awaited_nodes = is_one ? 1 : launcher_number(told.substr(0, told.find(':')));
    if (on_node > 0)
      launch_.awaited_nodes =
          std::max(launch_.awaited_nodes, (launch_.gpus + on_node - 1) / on_node);
    const auto visible = visible_gpus(launch_.environment);
    if (is_here)
      launch_.on_gpus = include;
    else if (visible && visible->count > 0)
      launch_.on_gpus = visible->said;
  }
  /// DeepSpeed's launcher starts processes on the hosts of its hostfile, and on its own node where
  /// there is none. One that is named may lie where the job runs.
  bool deepspeed_reaches_hosts() const {
    return by_.launcher == "deepspeed" && (by_.hostfile != LauncherWords::kOwnHostfile ||
                                           !said("DLTS_HOSTFILE").empty() || !hostfile().empty());
  }
  /// Primus starts torchrun on the nodes of Slurm's words in front of its dashes.
  int64_t of_primus() {
    LauncherCounts counts;
    for (size_t at = 0; at < launch_.arguments.size() && launch_.arguments[at].text != "--"; ++at)
      read_slurm_option(launch_.arguments, at, counts);
    constexpr const char* kDefault = "8";
    const std::string nodes = counts.nodes.empty() ? said("NNODES") : counts.nodes;
    by_.own.nodes = nodes.empty() ? "1" : nodes;
    by_.own.tasks_per_node = said("GPUS_PER_NODE").empty() ? kDefault : said("GPUS_PER_NODE");
    by_.shown = fmt::format("primus-cli with NNODES={} GPUS_PER_NODE={}", by_.own.nodes,
                            by_.own.tasks_per_node);
    return known(by_.own.nodes, "NNODES") * known(by_.own.tasks_per_node, "GPUS_PER_NODE");
  }
  /// Processes, one a GPU, that each node gets; 0: not said.
  int64_t of_each_node(int64_t on_node) const {
    const bool by_slurm = by_.launcher == "srun";
    const int64_t machines = launcher_number(by_.own.nodes), tasks = launcher_number(by_.own.tasks);
    if (by_.launcher == "accelerate" && machines > 0) return tasks / machines;
    if (launch_.foreign == "MaxText") return on_node;
    for (const std::string& said :
         {by_.own.tasks_per_node, by_.own.gpus_per_node, by_.mpi.tasks_per_node,
          by_slurm ? by_.slurm.tasks_per_node : std::string()})
      if (const int64_t number = launcher_number(said); number > 0) return number;
    if (by_.launcher == "jsrun") return 0;
    const int64_t of_batch = run_.session.batch.tasks_per_node;
    return by_slurm && of_batch > 0 ? of_batch : on_node;
  }
  /// Something else starts a process for every GPU where a variable says how many there are; else
  /// it is one process, which sees the GPUs of its node.
  int64_t of_no_launcher(int64_t on_node) {
    if (const std::string ranks = said("WORLD_SIZE"); !ranks.empty()) {
      by_.shown = "WORLD_SIZE=" + ranks;
      return known(ranks, "WORLD_SIZE");
    }
    const std::string_view first = by_.first;
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
    by_.shown += fmt::format("{}{}", by_.shown.empty() ? "" : " with ", visible->said);
    return visible->count;
  }
  /// A variable of the program; empty: not set.
  std::string said(std::string_view name) const {
    return base::value_or(launch_.environment, name, std::string());
  }
  /// As many ranks as it is told of, or a node's own.
  int64_t of_composer(int64_t on_node) {
    if (by_.own.tasks.empty()) by_.own.tasks = said("WORLD_SIZE");
    if (!by_.own.tasks.empty()) return known(by_.own.tasks, "--world_size");
    if (!by_.own.tasks_per_node.empty()) return known(by_.own.tasks_per_node, "--nproc");
    if (on_node == 0) why_ = "composer takes all that its node has";
    return on_node;
  }
  /// As many as it is told of, or all hosts of its list.
  int64_t nodes_of_colossalai() {
    if (!by_.own.nodes.empty() && by_.own.nodes != "-1") return known(by_.own.nodes, "--num_nodes");
    const std::string text = by_.hosts.empty() ? hostfile() : by_.hosts;
    int64_t hosts = 0;
    for (const std::string& host : base::split(text, by_.hosts.empty() ? '\n' : ','))
      hosts += host.find_first_not_of(" \t\r") == host.npos || host.starts_with('#') ? 0 : 1;
    return std::max<int64_t>(hosts, 1);
  }
  /// Without a number of processes mpirun fills the slots of its hosts, or its batch; 0 where a
  /// host has as many as it has cores.
  int64_t slots_of_mpi() {
    if (by_.hosts.empty() && by_.hostfile == LauncherWords::kOwnHostfile)
      return run_.session.batch.tasks;
    const std::string_view mark = by_.hosts.empty() ? "slots=" : ":";
    int64_t all = 0;
    for (const std::string& host :
         by_.hosts.empty() ? base::split(hostfile(), '\n') : base::split(by_.hosts, ',')) {
      if (host.find_first_not_of(" \t\r") == host.npos || host.starts_with('#')) continue;
      const size_t at = host.find(mark);
      const std::string rest = at == host.npos ? "" : host.substr(at + mark.size());
      const int64_t slots = launcher_number(rest.substr(0, rest.find_first_of(" \t\r#")));
      if (slots == 0) return 0;
      all += slots;
    }
    by_.shown += fmt::format(" with the slots of {}", by_.hosts.empty() ? by_.hostfile : by_.hosts);
    return all;
  }
  void show_variables(const std::string& nodes, const std::string& each) {
    for (const auto& [name, value] : {std::pair("NNODES", nodes), {"NPROC_PER_NODE", each}})
      if (!value.empty())
        by_.shown += fmt::format("{}{}={}", by_.shown.empty() ? "" : " ", name, value);
  }
  /// LLaMA-Factory starts torchrun itself, on every node, and is told of nodes by variables.
  int64_t of_front_end(int64_t on_node) {
    const bool told = is_llama_factory(launch_.program);
    const std::string nodes = told ? said("NNODES") : "", each = told ? said("NPROC_PER_NODE") : "";
    const int64_t count = nodes.empty() ? told || by_.launcher.empty() ? 1 : nodes_of_launcher()
                                        : known(nodes, "NNODES");
    const bool lists = each.empty() && visible_gpus(launch_.environment).has_value();
    const std::string by = std::exchange(by_.shown, "");
    const int64_t seen_ones = lists ? seen() : 0;
    const std::string list = std::exchange(by_.shown, by);
    const int64_t gpus = !each.empty() ? known(each, "NPROC_PER_NODE")
                         : lists       ? seen_ones
                                       : on_node;
    if (why_.empty() && gpus == 0)
      why_ = fmt::format("it takes all that its nodes have{}",
                         nodes.empty() ? "" : fmt::format(", and NNODES is {}", nodes));
    show_variables(nodes, each);
    if (lists && gpus != on_node)
      by_.shown += fmt::format("{}{}", by_.shown.empty() ? "" : " ", list);
    else if (each.empty())
      by_.shown += fmt::format("{}GPUs of a node", by_.shown.empty() ? "" : ", ");
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
    show_variables(nodes, each);
    if (one) by_.shown = visible->said;
    const int64_t count = nodes.empty() ? 1 : known(nodes, "NNODES");
    return count * (one ? 1 : known(each, "NPROC_PER_NODE"));
  }
  /// One process a node drives all its GPUs, or each process one.
  int64_t of_jax(int64_t nodes, int64_t on_node) {
    // Where a launcher of PyTorch counts processes, each has a GPU.
    if (by_.launcher == "torchrun" && launcher_number(by_.own.tasks_per_node) > 1)
      return std::max<int64_t>(1, launcher_number(by_.own.nodes)) *
             known(by_.own.tasks_per_node, "--nproc-per-node");
    if (on_node == 0) {
      if (!by_.launcher.empty()) why_ = "a process of JAX drives all GPUs of its node";
      return 0;
    }
    if (by_.shown.empty()) by_.shown = "the nodes of the batch, all their GPUs";
    return std::max<int64_t>(1, nodes) * on_node;
  }
  /// XTuner starts torchrun where it is told of processes; Slurm starts one for every task.
  int64_t of_xtuner() {
    const std::string nodes = said("NNODES"), each = said("NPROC_PER_NODE");
    if (by_.launcher == "srun" && each.empty()) {
      const BatchRequest& batch = run_.session.batch;
      if (!by_.slurm.tasks.empty()) return known(by_.slurm.tasks, "--ntasks");
      if (batch.tasks > 0) return batch.tasks;
      const std::string by = by_.slurm.tasks_per_node;
      return nodes_of_launcher() *
             (by.empty() ? batch.tasks_per_node : known(by, "--ntasks-per-node"));
    }
    show_variables(nodes, each);
    if (by_.shown.empty()) by_.shown = "xtuner train without NPROC_PER_NODE";
    return (nodes.empty() ? 1 : known(nodes, "NNODES")) *
           (each.empty() ? 1 : known(each, "NPROC_PER_NODE"));
  }
  /// Resource sets with as many processes each; a process drives one GPU.
  int64_t of_jsrun() {
    if (!by_.own.tasks.empty()) return known(by_.own.tasks, "--np");
    if (by_.resource_sets.empty()) return 0;
    return known(by_.resource_sets, "--nrs") *
           (by_.own.tasks_per_node.empty() ? 1 : known(by_.own.tasks_per_node, "--tasks_per_rs"));
  }
  int64_t nodes_of_launcher() const {
    return std::max<int64_t>({1, run_.session.batch.nodes, launcher_number(by_.slurm.nodes)});
  }
  /// By a hostfile that the script wrote, or one beside it, and what is said of its hosts.
  int64_t of_deepspeed() {
    DeepSpeedHosts hosts{hostfile(), by_.include, by_.exclude, 0, 0};
    for (const auto& [text, name] :
         {std::pair(by_.include, "--include"), {by_.exclude, "--exclude"}})
      if (ShellUnknowns::in(text)) {
        why_ = fmt::format("{} depends on {}", name, run_.session.unknowns.entry(text).reason);
        return 0;
      }
    if (!by_.own.nodes.empty()) hosts.nodes = known(by_.own.nodes, "--num_nodes");
    if (!by_.own.gpus_per_node.empty()) hosts.gpus = known(by_.own.gpus_per_node, "--num_gpus");
    if (!why_.empty()) return 0;
    // As an --include of this host.
    if (hosts.nodes == 0 && hosts.gpus == 0 && hosts.hostfile.empty() && by_.include.empty() &&
        by_.exclude.empty() && visible_gpus(launch_.environment))
      return seen();
    const auto gpus = deepspeed_gpus(hosts);
    if (!gpus) why_ = gpus.error().message;
    return gpus.value_or(0);
  }
  std::string hostfile() const {
    std::string text;
    if (const auto it = run_.state.files.find(by_.hostfile); it != run_.state.files.end())
      text = it->second;
    else if (const std::string file = file_beside(by_.hostfile, run_.session.files.front());
             !file.empty())
      if (auto read = base::read_file(file, spec::kLargestWritten)) text = std::move(*read);
    return text;
  }

  LauncherWords by_;
  const ShellRun& run_;
  Launch& launch_;
  std::string why_;  ///< why it is not known
};

}  // namespace

void count_gpus(const LauncherWords& by, const ShellRun& run, Launch& launch) {
  GpuCount(by, run, launch).count();
}

}  // namespace ergometer::intake
