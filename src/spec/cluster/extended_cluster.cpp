#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_factors.h"
#include "spec/cluster/cluster_files.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/cluster/measured_gpu.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/job_words.h"

namespace ergometer::spec {
namespace {

constexpr int kDeepestExtension = 8;

Result<Cluster> extended(YamlMap& map, int depth) {
  if (auto inner = map.map("extends")) {
    if (inner->has("extends")) return extended_cluster(*inner, depth + 1);
    for (const YamlMap::Item& item : map.items())
      if (item.key == "extends")
        return parse_cluster(relocated_parts(item.value, map.file()), "extends");
  }
  ERGOMETER_ASSIGN(const ClusterPart part,
                   find_part(map, "extends", {CatalogKind::kCluster, CatalogKind::kNode}));
  if (!part.entry.empty()) return read_cluster(part.entry);
  ERGOMETER_ASSIGN(YamlMap file, YamlMap::parse(part.text, part.path));
  // A file may extend others, and be one of them: counted, not followed for ever.
  return file.has("extends") ? extended_cluster(file, depth + 1)
                             : parse_cluster(part.text, part.path);
}

/// Every NIC's line rate, or that of all of a node's together, shared out as it was.
void change_nics(YamlMap& map, Node& node) {
  if (map.has("nic_bandwidth") && map.has("node_bandwidth"))
    return map.refuse("node_bandwidth", "stands beside nic_bandwidth; allowed: one of the two");
  const bool all = map.has("node_bandwidth");
  const std::string_view key = all ? "node_bandwidth" : "nic_bandwidth";
  if (!map.has(key)) return;
  if (node.nics.empty()) return map.refuse(key, "the cluster's nodes have no NIC");
  base::Parameter bandwidth = map.parameter(key, "B/s", kSlowestLink, kFastestLink);
  const double before = base::sum(node.nics, [&](const Nic& nic) { return nic.bytes_per_s; });
  const double total = bandwidth.value;
  for (size_t i = 0; i < node.nics.size(); ++i) {
    if (all) bandwidth.value = total * node.nics[i].bytes_per_s / before;
    node.nics[i].bytes_per_s = bandwidth.value;
    node.parameters.set(fmt::format("nic{}.bandwidth", i), bandwidth);
  }
}

/// Collectives keep the share of the links' rate that they were measured at, unless the file says
/// how fast they are.
void scale_collectives(base::ParameterSet& parameters, double factor) {
  const base::ParameterSet before = parameters;
  for (const auto& [name, parameter] : before.all()) {
    if (!name.starts_with("collective.") || parameter.unit != "B/s") continue;
    base::Parameter scaled = parameter;
    scaled.value *= factor;
    scaled.source = fmt::format("{:g} times, as intra_bandwidth: {}", factor, parameter.source);
    scaled.grade = base::Grade::kAssumed;
    parameters.set(name, scaled);
  }
}

void change_intra(YamlMap& map, Node& node) {
  if (!map.has("intra_bandwidth")) return;
  const base::Parameter bandwidth =
      map.parameter("intra_bandwidth", "B/s", kSlowestLink, kFastestLink);
  if (!map.has("intra_collectives") && node.intra_bytes_per_s > 0)
    scale_collectives(node.parameters, bandwidth.value / node.intra_bytes_per_s);
  node.intra_bytes_per_s = bandwidth.value;
  node.parameters.set("intra.bandwidth", bandwidth);
}

/// One number is the lowest tier's, a list one a tier.
void change_tiers(YamlMap& map, Fabric& fabric) {
  constexpr double kMost = 1000;
  const auto ratios = map.elements("oversubscription");
  if (!ratios.empty() && !has_tiers(fabric.kind))
    return map.refuse("oversubscription", "{} has no tiers; its links are in its fabric",
                      fabric.kind == FabricKind::kOptical
                          ? "an optical network"
                          : fmt::format("a {}", to_word(fabric.kind)));
  if (ratios.size() > fabric.tiers.size())
    return map.refuse("oversubscription", "found {} numbers; the fabric has {} tiers",
                      ratios.size(), fabric.tiers.size());
  for (size_t tier = 0; tier < ratios.size(); ++tier) {
    const auto ratio = base::parse_number(ratios[tier].text);
    if (!ratio || *ratio < 1 || *ratio > kMost)
      return map.refuse("oversubscription", "found \"{}\"; allowed: a number from 1 to {}",
                        ratios[tier].text, kMost);
    fabric.tiers[tier].oversubscription = *ratio;
  }
}

/// The clock of a long load (`sustained_clock`) was found at the GPU's own limits: at others it is
/// another one.
void refuse_limits_alone(YamlMap& map) {
  auto given = map.map("parameters");
  if (!given || given->has("sustained_clock")) return;
  constexpr std::pair<const char*, const char*> kLimits[] = {
      {"tdp", "--power-cap"}, {"clock_max", "--lock-clock"}, {"boost_clock", "--lock-clock"}};
  for (const auto& [name, option] : kLimits)
    if (given->has(name))
      given->refuse(name,
                    "needs sustained_clock beside it, the clock that a long load has at this "
                    "limit; or leave both and give the job {}",
                    option);
}

Result<void> change_gpu(YamlMap& map, Gpu& gpu) {
  if (map.has("gpu")) {
    ERGOMETER_ASSIGN(gpu, read_gpu(map, "gpu"));
  }
  if (map.has("kernels")) ERGOMETER_TRY(read_kernels(map, gpu));
  if (map.has("power")) ERGOMETER_TRY(read_power(map, gpu));
  read_parameters(map, {ParameterOwner::kGpu, ParameterOwner::kKernels, ParameterOwner::kPower}, "",
                  gpu.parameters);
  refuse_limits_alone(map);
  if (map.has("kernels") || map.has("parameters")) {
    copy_fields(gpu);
    gpu.measured_as = measured_gpu(gpu);
  }
  return {};
}

void change_host(YamlMap& map, Node& node) {
  if (!map.has("host_factor")) return;
  const ParameterInfo& info = *find_parameter(ParameterOwner::kNode, "host.factor");
  node.parameters.set("host.factor", map.parameter("host_factor", info.unit, info.min, info.max));
}

constexpr std::array kNodeParts =
    std::to_array<const char*>({"gpu", "kernels", "power", "parameters", "cooling", "coolings",
                                "nic_bandwidth", "node_bandwidth", "intra_bandwidth",
                                "intra_collectives", "pcie", "host_factor", "collectives_from"});
constexpr std::array kFabricParts =
    std::to_array<const char*>({"fabric", "collectives", "oversubscription"});

/// What was recorded of a cluster says nothing of one with other parts.
void change_evidence(YamlMap& map, Cluster& cluster) {
  const auto is_said = [&](const char* part) { return map.has(part); };
  if (std::ranges::any_of(kNodeParts, is_said) || std::ranges::any_of(kFabricParts, is_said))
    cluster.measured.reset();
  if (auto measured = map.map("measured", "what calibrate --from writes"))
    cluster.measured = read_evidence(*std::move(measured));
}

/// What says something of the node says it of no group in particular.
void refuse_node_changes(YamlMap& map, const Cluster& cluster) {
  if (cluster.groups.empty()) return;
  const auto refuse = [&](const char* key) {
    if (map.has(key))
      map.refuse(key, "{} has groups of unlike nodes; change them there", cluster.name);
  };
  refuse("nodes");
  refuse("domain_gpus");
  for (const char* key : kNodeParts) refuse(key);
  refuse("measured");
}

Result<void> change_parts(YamlMap& map, Cluster& cluster) {
  Node& node = cluster.node;
  ERGOMETER_TRY(change_gpu(map, node.gpu));
  ERGOMETER_TRY(read_coolings(map, node));
  if (map.has("intra_collectives"))
    ERGOMETER_TRY(read_collectives(map, "intra_collectives", node.parameters, node.collectives));
  if (auto fabric = map.map("fabric")) {
    ERGOMETER_ASSIGN(cluster.fabric, read_fabric(*fabric));
  }
  if (map.has("collectives"))
    ERGOMETER_TRY(read_collectives(map, "collectives", cluster.fabric.parameters,
                                   cluster.fabric.collectives));
  return {};
}

}  // namespace

Result<Cluster> extended_cluster(YamlMap& map, int depth) {
  map.allow(
      {"extends",           "name",     "aliases",          "source",         "nodes",
       "domain_gpus",       "gpu",      "kernels",          "power",          "parameters",
       "cooling",           "coolings", "nic_bandwidth",    "node_bandwidth", "intra_bandwidth",
       "intra_collectives", "pcie",     "oversubscription", "fabric",         "collectives",
       "host_factor",       "measured", "collectives_from"});
  if (depth > kDeepestExtension)
    map.refuse("extends", "lie in each other more than {} deep", kDeepestExtension);
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_ASSIGN(Cluster cluster, extended(map, depth));
  refuse_node_changes(map, cluster);
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_TRY(change_parts(map, cluster));
  cluster.name = map.text("name", cluster.name);
  cluster.source = map.text("source", cluster.source);
  if (map.text("nodes") == "any")
    cluster.nodes = 0;
  else
    cluster.nodes = map.integer("nodes", cluster.nodes, 1, kMostNodes);
  cluster.domain_gpus = map.integer("domain_gpus", cluster.domain_gpus, 1, kMostDomainGpus);
  check_domain(map, cluster);
  fit_topology(map, cluster);
  change_nics(map, cluster.node);
  change_intra(map, cluster.node);
  read_pcie(map, cluster.node);
  read_given_algorithms(map, cluster.node.parameters);
  change_host(map, cluster.node);
  change_evidence(map, cluster);
  change_tiers(map, cluster.fabric);
  if (map.error()) return tl::unexpected(*map.error());
  return cluster;
}

}  // namespace ergometer::spec
