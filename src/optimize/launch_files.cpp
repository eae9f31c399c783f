// What --out writes beside the job file: the forms that Slurm, torchrun, Megatron-LM and nvidia-smi
// take.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/shell.h"
#include "optimize/files.h"

namespace ergometer::optimize {
namespace {

std::string host_of(const std::vector<std::string>& hosts, int64_t node) {
  const auto index = static_cast<size_t>(node);
  return index < hosts.size() ? hosts[index] : fmt::format("node{}", node);
}

/// The ranks of every node in ascending order, which is the order of local ranks.
std::map<int64_t, std::vector<int64_t>> ranks_by_node(const spec::Job& job) {
  std::map<int64_t, std::vector<int64_t>> nodes;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    nodes[job.parallelism.gpu_of(rank) / job.cluster.node.gpus].push_back(rank);
  return nodes;
}

std::string slurm_hosts(const spec::Job& job, const std::vector<std::string>& hosts) {
  std::string text;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    text += host_of(hosts, job.parallelism.gpu_of(rank) / job.cluster.node.gpus) + '\n';
  return text;
}

/// Whether every node runs consecutive ranks, in full: what torchrun can do.
bool torchrun_can(const std::map<int64_t, std::vector<int64_t>>& nodes) {
  return std::ranges::all_of(nodes, [&](const auto& it) {
    const std::vector<int64_t>& ranks = it.second;
    return ranks.back() - ranks.front() + 1 == std::ssize(ranks) &&
           ranks.size() == nodes.begin()->second.size();
  });
}

constexpr const char* kByHost = "case \"$(hostname) $(hostname -s)\" in\n";

/// Of `kByHost`: the node whose full or short name this is.
std::string case_of(const std::string& host) {
  const std::string name = base::shell_quoted(host);
  return fmt::format("  {0}\" \"*|*\" \"{0})", name);
}

/// A shell script to be sourced by every task before its program starts.
std::string gpu_order(const spec::Job& job, const std::vector<std::string>& hosts) {
  const auto nodes = ranks_by_node(job);
  std::string text =
      "# Sourced on every node before training starts: local rank i takes the i-th GPU named "
      "here.\n"
      "# With Slurm: SLURM_HOSTFILE=slurm_hosts.txt srun --distribution=arbitrary ...\n"
      "export CUDA_DEVICE_ORDER=PCI_BUS_ID\n";
  text += kByHost;
  for (const auto& [node, ranks] : nodes) {
    std::vector<int64_t> gpus;
    for (const int64_t rank : ranks)
      gpus.push_back(job.parallelism.gpu_of(rank) % job.cluster.node.gpus);
    text += fmt::format("{} export CUDA_VISIBLE_DEVICES={}", case_of(host_of(hosts, node)),
                        fmt::join(gpus, ","));
    if (torchrun_can(nodes))
      text += fmt::format(" NODE_RANK={}", ranks.front() / std::ssize(ranks));
    text += fmt::format(" ;;  # ranks {}\n", fmt::join(ranks, " "));
  }
  text += "  *) echo \"gpu_order.sh: no rank runs on $(hostname)\" >&2; return 1 ;;\nesac\n";
  text += torchrun_can(nodes)
              ? "# torchrun: --node-rank \"$NODE_RANK\"\n"
              : "# torchrun cannot do this: ranks of a node are not consecutive. Use Slurm.\n";
  return text;
}

/// What a vendor's tool is told, for `fmt::format` with the GPU's number on its node and the value.
struct SettingTool {
  const char *name, *cap, *lock, *restore_caps, *restore_locks;
};
constexpr SettingTool kNvidiaSmi = {
    "nvidia-smi", "nvidia-smi -i {} -pl {:.0f}", "nvidia-smi -i {0} -lgc {1:.0f},{1:.0f}",
    "nvidia-smi --query-gpu=index,power.default_limit --format=csv,noheader,nounits |\n"
    "  while IFS=', ' read -r gpu watts; do nvidia-smi -i \"$gpu\" -pl \"$watts\"; done\n",
    "nvidia-smi -rgc\n"};
constexpr SettingTool kAmdSmi = {"amd-smi", "amd-smi set --gpu {} --power-cap {:.0f}",
                                 "amd-smi set --gpu {} --perf-determinism {:.0f}",
                                 "amd-smi reset --gpu all --power-cap\n",
                                 "amd-smi reset --gpu all --perf-determinism\n"};
const SettingTool& tool_of(const spec::Job& job) {
  return job.cluster.node.gpu.vendor == "AMD" ? kAmdSmi : kNvidiaSmi;
}

std::string set_gpus(const SettingTool& tool, const Settings& settings, int64_t nodes,
                     const std::vector<std::string>& hosts) {
  std::string text = "#!/bin/sh\n# Run as root on every node. Undo with restore_gpus.sh.\nset -e\n";
  text += kByHost;
  for (int64_t node = 0; node < nodes; ++node) {
    text += case_of(host_of(hosts, node)) + '\n';
    for (const GpuSetting& gpu : settings.gpus) {
      const auto add = [&](const char* form, double value) {
        if (gpu.node == node && value > 0)
          text += "    " + fmt::format(fmt::runtime(form), gpu.gpu, value) + '\n';
      };
      add(tool.cap, gpu.cap_w);
      add(tool.lock, gpu.lock_mhz);
    }
    text += "    ;;\n";
  }
  return text + "  *) echo \"set_gpus.sh: the job has no node $(hostname)\" >&2; exit 1 ;;\nesac\n";
}

std::string restore(const SettingTool& tool, const Settings& settings) {
  const bool locks =
      std::ranges::any_of(settings.gpus, [](const GpuSetting& gpu) { return gpu.lock_mhz > 0; });
  const bool caps =
      std::ranges::any_of(settings.gpus, [](const GpuSetting& gpu) { return gpu.cap_w > 0; });
  std::string text = "#!/bin/sh\n# Run as root on every node.\n";
  if (locks) text += tool.restore_locks;
  if (caps) text += tool.restore_caps;
  return text;
}

std::string megatron_text(const Settings& settings) {
  std::string text;
  for (const std::string& argument : settings.megatron) text += argument + '\n';
  if (!settings.recompute_by_stage.empty()) {
    text += fmt::format(
        "# Megatron-LM takes one number of recomputed layers for each process; stages differ "
        "here:\n"
        "# {} (by chunk and stage). Give the ranks of each stage theirs, or all the largest:\n"
        "--recompute-num-layers {}\n",
        fmt::join(settings.recompute_by_stage, ","),
        *std::ranges::max_element(settings.recompute_by_stage));
  }
  return text;
}

const char* pass_word(spec::SlotKind kind) {
  switch (kind) {
    case spec::SlotKind::kForward: return "forward";
    case spec::SlotKind::kBackward: return "backward";
    case spec::SlotKind::kBackwardInput: return "backward_input";
    case spec::SlotKind::kBackwardWeight: return "backward_weight";
  }
  return "";
}

/// With the chunk behind a point where it is not 0, as in schedule files.
std::string batch_word(const spec::ScheduleSlot& slot) {
  return slot.chunk == 0 ? fmt::format("{}", slot.micro_batch)
                         : fmt::format("{}.{}", slot.micro_batch, slot.chunk);
}

/// The quickest point of the frontier, pass by pass: a table such as Perseus' server hands out.
std::string clock_schedule(const Optimized& result) {
  std::string text = "stage,order,pass,micro_batch,clock_mhz,time_s\n";
  const FrontierRow& row = result.frontier.front();
  const FrontierPoint& point = row.clocks.point;
  // The point's length may be told from shorter steps: the schedule's own is that of its passes.
  std::vector<PipelinePass> passes;
  const TimeCostGraph graph = pipeline_graph(result.tables, result.pipeline.micro_batches, passes);
  const std::vector<double> pass_s =
      on_lattice(result.tables, graph, passes, point.pass_s, length_of(graph, point.pass_s));
  std::vector<double> clocks_hz;
  lattice_energy(result.tables, passes, pass_s, point.time_s, clocks_hz);
  int64_t stage = -1, order = 0;
  for (size_t i = 0; i < result.pipeline.passes.size(); ++i) {
    const PipelinePass& pass = result.pipeline.passes[i];
    order = pass.stage == stage ? order + 1 : 0;
    stage = pass.stage;
    text += fmt::format("{},{},{},{},{:.0f},{:.6f}\n", stage, order, pass_word(pass.slot.kind),
                        batch_word(pass.slot), clocks_hz[i] / 1e6, pass_s[i]);
  }
  return text;
}

}  // namespace

std::vector<File> files_of(const Optimized& result, const spec::Settings& given,
                           const std::vector<std::string>& hosts) {
  std::vector<File> files;
  const auto add = [&](const char* name, std::string text, std::string what) {
    files.push_back({name, std::move(text), std::move(what)});
  };
  const Settings settings = settings_of(result);
  add("job.yaml", job_file(job_settings(given, result)), "the job, for ergometer simulate");
  if (!settings.rank_map.empty()) {
    std::string map;
    for (const int64_t gpu : settings.rank_map) map += fmt::format("{}\n", gpu);
    add("rank_map.txt", map, "the GPU of every rank, for --rank-map");
    add("slurm_hosts.txt", slurm_hosts(result.chosen, hosts),
        "SLURM_HOSTFILE for srun --distribution=arbitrary");
    add("gpu_order.sh", gpu_order(result.chosen, hosts), "CUDA_VISIBLE_DEVICES of every node");
  }
  if (!settings.gpus.empty()) {
    const SettingTool& tool = tool_of(result.chosen);
    const auto by_tool = [&](const char* what) { return fmt::format("{}: {}", tool.name, what); };
    add("set_gpus.sh", set_gpus(tool, settings, result.chosen.nodes(), hosts),
        by_tool("power caps and clocks"));
    add("restore_gpus.sh", restore(tool, settings), by_tool("as before"));
  }
  if (const std::string text = megatron_text(settings); !text.empty())
    add("megatron_args.txt", text, "arguments of Megatron-LM");
  if (!result.frontier.empty())
    add("clock_schedule.csv", clock_schedule(result),
        "clock of every pass at the quickest point of the frontier");
  return files;
}

}  // namespace ergometer::optimize
