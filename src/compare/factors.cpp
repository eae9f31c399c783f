#include "compare/factors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/collection.h"
#include "base/json_writer.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/job_words.h"
#include "spec/settings/settings.h"

namespace ergometer::compare {
namespace {

using Cluster = spec::Cluster;

std::string text_of(const std::string& text) { return text; }
std::string text_of(int64_t number) { return fmt::format("{}", number); }
std::string text_of(int number) { return fmt::format("{}", number); }
std::string text_of(spec::Cooling cooling) { return std::string(to_word(cooling)); }
std::string text_of(spec::IntraKind kind) {
  switch (kind) {
    case spec::IntraKind::kNvlinkSwitch: return "NVLink switch";
    case spec::IntraKind::kNvlinkMesh: return "NVLink mesh";
    case spec::IntraKind::kXgmiMesh: return "xGMI mesh";
    case spec::IntraKind::kPcie: return "PCIe";
  }
  return "";
}
std::string text_of(spec::FabricKind kind) {
  switch (kind) {
    case spec::FabricKind::kFatTree: return "fat tree";
    case spec::FabricKind::kSingleSwitch: return "single switch";
    default: return std::string(to_word(kind));
  }
}
std::string text_of(const std::vector<spec::Slot>& slots) {
  std::string text;
  for (const spec::Slot& slot : slots)
    text += fmt::format("{}{}/{}", text.empty() ? "" : " ", slot.row, slot.lane);
  return text;
}
/// "8 x 400 Gb/s"; where cards differ in speed or in who uses them, all of them.
std::string text_of(const std::vector<spec::Nic>& nics) {
  constexpr double kBitsPerGigabyte = 8e-9;
  std::string text;
  for (size_t i = 0; i < nics.size();) {
    size_t same = i;
    while (same < nics.size() && nics[same].bytes_per_s == nics[i].bytes_per_s &&
           nics[same].gpus.size() == nics[i].gpus.size())
      ++same;
    text += fmt::format("{}{} x {} Gb/s", text.empty() ? "" : ", ", same - i,
                        base::shortest(nics[i].bytes_per_s * kBitsPerGigabyte));
    i = same;
  }
  return text.empty() ? "none" : text;
}
std::string line_rate(const Cluster& cluster) {
  constexpr double kGiga = 1e9;
  return base::shortest(cluster.node.intra_bytes_per_s / kGiga) + " GB/s";
}
std::string gpus_of_nics(const Cluster& cluster) {
  std::string text;
  for (const spec::Nic& nic : cluster.node.nics)
    text += fmt::format("{}{}", text.empty() ? "" : " | ", fmt::join(nic.gpus, ","));
  return text;
}
std::string text_of(const std::vector<spec::FabricTier>& tiers) {
  std::string text;
  for (const spec::FabricTier& tier : tiers)
    text += fmt::format("{}{} of {} nodes at {}:1", text.empty() ? "" : " below ", tier.name,
                        tier.nodes_below == 0 ? "all" : fmt::format("{}", tier.nodes_below),
                        base::shortest(tier.oversubscription));
  return text;
}

/// "16 of 1 at 50 GB/s, 4 of 16 at 25 GB/s, adaptive": sizes, nodes behind a link, its rate.
std::string text_of(const spec::Topology& topology) {
  constexpr double kGiga = 1e9;
  if (const spec::Circuits& it = topology.circuits; it.degree > 0)
    return fmt::format("{} circuits at {} GB/s, made every {} in {} s, {} s a hop", it.degree,
                       base::shortest(it.link_bytes_per_s / kGiga), to_word(it.when),
                       base::shortest(it.reconfiguration_s), base::shortest(topology.hop_s));
  if (topology.dimensions.empty()) return "tree";
  std::string text;
  for (const spec::Dimension& it : topology.dimensions)
    text += fmt::format("{} of {} at {} GB/s, ", it.size, it.unit,
                        base::shortest(it.link_bytes_per_s / kGiga));
  return fmt::format("{}{}{}, {} s a hop", text, to_word(topology.routing),
                     topology.wraparound ? "" : ", open", base::shortest(topology.hop_s));
}

std::string text_of(const spec::Planes& planes) {
  return fmt::format("{}, {} down{}", planes.count, planes.down, planes.spray ? ", sprayed" : "");
}

#define ERGOMETER_FIELD(name, path)                                     \
  ClusterField {                                                        \
    name, [](const Cluster& cluster) { return text_of(cluster.path); }, \
        [](Cluster& to, const Cluster& from) { to.path = from.path; }   \
  }

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return base::contains(names, name);
}

bool of_memory_size(char owner, std::string_view name) {
  return (owner == 'g' && name == "memory") || (owner == 'n' && name == "memory_reserve");
}
bool of_bandwidth(char owner, std::string_view name) {
  return owner == 'g' && (is_any(name, {"memory_bandwidth", "gemm.memory_efficiency"}) ||
                          name.starts_with("memory."));
}
bool of_clocks(char owner, std::string_view name) {
  return owner == 'g' &&
         (is_any(name, {"sustained_clock", "short_run_clock", "clock_min", "clock_max",
                        "clock_step", "tdp", "power_cap_min", "power_cap_max", "idle_power"}) ||
          name.starts_with("temperature_") || name.starts_with("power."));
}
bool of_compute(char owner, std::string_view name) {
  return owner == 'g' && !of_memory_size(owner, name) && !of_bandwidth(owner, name) &&
         !of_clocks(owner, name);
}
bool of_intra_links(char owner, std::string_view name) {
  return owner == 'n' && (name.starts_with("collective.") || name.starts_with("pcie.") ||
                          name.starts_with(spec::kGivenAlgorithms) || name == "intra.bandwidth");
}
bool of_network(char owner, std::string_view name) {
  return owner == 'f' || (owner == 'n' && name.starts_with("nic"));
}
bool of_cooling(char owner, std::string_view name) {
  return owner == 'n' && name.starts_with("cooling.");
}
bool of_node_power(char owner, std::string_view name) {
  return owner == 'n' && !of_memory_size(owner, name) && !of_intra_links(owner, name) &&
         !of_network(owner, name) && !of_cooling(owner, name);
}

std::vector<Factor> work_factors() {
  using enum FactorKind;
  return {{"model", "model", kWork},
          {"sequence", "sequence length", kWork},
          {"global_batch", "global batch", kWork},
          {"task", "task", kWork},
          {"scale", "number of GPUs", kWork}};
}

std::vector<Factor> machine_factors() {
  using enum FactorKind;
  return {
      {"compute_rate",
       "compute rate",
       kMachine,
       {ERGOMETER_FIELD("GPU", node.gpu.name), ERGOMETER_FIELD("vendor", node.gpu.vendor),
        ERGOMETER_FIELD("architecture", node.gpu.architecture)},
       of_compute},
      {"unlike_nodes", "nodes of unlike kinds", kMachine},
      {"memory_bandwidth", "memory bandwidth", kMachine, {}, of_bandwidth},
      {"memory_capacity", "memory capacity", kMachine, {}, of_memory_size},
      {"clocks", "GPU's clocks and power", kMachine, {}, of_clocks},
      {"node_shape",
       "shape of the node",
       kMachine,
       {ERGOMETER_FIELD("gpus per node", node.gpus), ERGOMETER_FIELD("slots", node.slots),
        ERGOMETER_FIELD("dies per module", node.gpu.dies_per_module)}},
      {"intra_links",
       "links inside the domain",
       kLinks,
       {ERGOMETER_FIELD("kind", node.intra),
        {"line rate", line_rate,
         [](Cluster& to, const Cluster& from) {
           to.node.intra_bytes_per_s = from.node.intra_bytes_per_s;
         }},
        ERGOMETER_FIELD("links per GPU", node.links_per_gpu),
        ERGOMETER_FIELD("GPUs in the domain", domain_gpus)},
       of_intra_links},
      {"network",
       "network between nodes",
       kLinks,
       {ERGOMETER_FIELD("NICs", node.nics),
        {"GPUs of each NIC", gpus_of_nics,
         [](Cluster& to, const Cluster& from) { to.node.nics = from.node.nics; }},
        ERGOMETER_FIELD("fabric", fabric.kind),
        ERGOMETER_FIELD("tiers", fabric.tiers),
        ERGOMETER_FIELD("topology", fabric.topology),
        ERGOMETER_FIELD("planes", fabric.planes)},
       of_network},
  };
}

std::vector<Factor> surroundings_factors() {
  using enum FactorKind;
  return {
      {"limits", "limits of power and clocks", kSurroundings},
      {"cooling",
       "cooling",
       kSurroundings,
       {ERGOMETER_FIELD("built for", node.cooling)},
       of_cooling},
      {"node_power", "node beside its GPUs", kSurroundings, {}, of_node_power},
      {"silicon", "chips drawn", kSurroundings},
      {"operands", "operands' values", kSurroundings},
      {"time", "time looked at", kSurroundings},
      {"faults", "GPUs and nodes that differ", kSurroundings},
  };
}

std::vector<Factor> layout_factors() {
  using enum FactorKind;
  return {
      {"tensor_parallelism", "tensor parallelism", kLayout},
      {"context_parallelism", "context parallelism", kLayout},
      {"pipeline", "pipeline", kLayout},
      {"placement", "which GPU runs which rank", kLayout},
      {"expert_parallelism", "expert parallelism", kLayout},
      {"sharding", "sharding over data parallelism", kLayout},
      {"micro_batch", "micro batch", kLayout},
  };
}

std::vector<Factor> technique_factors() {
  using enum FactorKind;
  return {
      {"recomputation", "recomputation", kTechnique},
      {"precision", "precision", kTechnique},
      {"overlap_gradients", "overlap of gradient reduction", kTechnique},
      {"overlap_parameters", "overlap of parameter gathering", kTechnique},
      {"overlap_tensor", "overlap of tensor parallelism", kTechnique},
      {"overlap_pipeline", "overlap of pipeline transfers", kTechnique},
      {"buckets", "gradient buckets", kTechnique},
      {"experts", "how tokens reach experts", kTechnique},
      {"kernels", "kernels", kTechnique},
      {"offload", "states and activations on the host", kTechnique},
      {"graphs", "CUDA graphs", kTechnique},
      {"software", "software", kTechnique},
  };
}

}  // namespace

const std::vector<Factor>& factors() {
  static const std::vector<Factor> all = [] {
    std::vector<Factor> list;
    for (auto part : {work_factors(), machine_factors(), surroundings_factors(), layout_factors(),
                      technique_factors()})
      list.insert(list.end(), part.begin(), part.end());
    for (Factor& factor : list)
      for (const spec::SettingInfo& info : spec::setting_table())
        if (info.factor == factor.id) factor.settings.push_back(info.name);
    return list;
  }();
  return all;
}

}  // namespace ergometer::compare
