#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/parse_once.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_files.h"
#include "spec/cluster/cluster_names.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/job_words.h"

namespace ergometer::spec {
namespace {

constexpr int64_t kMostGpusInNode = 1024;

void read_slots(YamlMap& map, Node& node) {
  for (YamlMap& slot : map.maps("slots")) {
    slot.allow({"row", "lane"});
    slot.require("row");
    slot.require("lane");
    node.slots.push_back({static_cast<int>(slot.integer("row", 0, 0, 1000)),
                          static_cast<int>(slot.integer("lane", 0, 0, 1000))});
  }
  if (node.slots.empty())
    // Nothing is known about the airflow: side by side, no GPU heats another's air.
    for (int i = 0; i < node.gpus; ++i) node.slots.push_back({0, i});
  if (node.slots.size() != static_cast<size_t>(node.gpus))
    map.refuse("slots", "found {} slots; allowed: one for each of the {} GPUs", node.slots.size(),
               node.gpus);
}

/// A line's one rate; of an asymmetric one the lesser, for every transfer between alike nodes
/// leaves by an uplink and arrives by a downlink.
base::Parameter read_bandwidth(YamlMap& entry) {
  constexpr double kSlowestUplink = 1e4;
  const auto rate = [&](const char* key, double slowest) {
    return entry.parameter(key, "B/s", slowest, kFastestLink);
  };
  const bool asymmetric = entry.has("uplink") || entry.has("downlink");
  if (asymmetric && entry.has("bandwidth"))
    entry.refuse("bandwidth", "stands beside uplink and downlink; say it, or both of them");
  for (const char* key : {"uplink", "downlink"})
    if (asymmetric) entry.require(key);
  if (!asymmetric) entry.require("bandwidth");
  if (!asymmetric || entry.error()) return rate("bandwidth", kSlowestLink);
  const base::Parameter up = rate("uplink", kSlowestUplink),
                        down = rate("downlink", kSlowestUplink);
  return up.value < down.value ? up : down;
}

void read_nics(YamlMap& map, Node& node) {
  for (YamlMap& entry : map.maps("nics")) {
    entry.allow({"bandwidth", "uplink", "downlink", "gpus", "source", "grade"});
    entry.require("gpus");
    base::Parameter bandwidth = read_bandwidth(entry);
    if (entry.has("source")) bandwidth.source = entry.text("source");
    Nic nic;
    nic.bytes_per_s = bandwidth.value;
    for (const int64_t gpu : entry.integers("gpus", 0, node.gpus - 1))
      nic.gpus.push_back(static_cast<int>(gpu));
    node.parameters.set(fmt::format("nic{}.bandwidth", node.nics.size()), bandwidth);
    node.nics.push_back(std::move(nic));
  }
  for (int gpu = 0; gpu < node.gpus && !node.nics.empty(); ++gpu) {
    bool served = false;
    for (const Nic& nic : node.nics)
      for (const int local : nic.gpus) served = served || local == gpu;
    if (!served) map.refuse("nics", "GPU {} is served by none of them", gpu);
  }
}

void read_intra(YamlMap& map, Node& node) {
  map.require("intra");
  auto intra = map.map("intra");
  if (!intra) return;
  intra->allow({"kind", "links_per_gpu", "bandwidth"});
  intra->require("kind");
  intra->require("bandwidth");
  node.intra = static_cast<IntraKind>(
      intra->choice("kind", {"nvlink-switch", "nvlink-mesh", "xgmi-mesh", "pcie"}, 0));
  node.links_per_gpu = static_cast<int>(intra->integer("links_per_gpu", 1, 1, 1000));
  const base::Parameter bandwidth =
      intra->parameter("bandwidth", "B/s", kSlowestLink, kFastestLink);
  node.intra_bytes_per_s = bandwidth.value;
  node.parameters.set("intra.bandwidth", bandwidth);
}

/// The network of a node kind, or of a user's node, that names none: every NIC rail on its own
/// switches.
Fabric plain_fabric() {
  Fabric fabric;
  fabric.tiers.push_back({"leaf", 0, 1.0});
  return fabric;
}

Result<Cluster> cluster_of_node(YamlMap& map) {
  ERGOMETER_ASSIGN(Node node, read_node_body(map));
  Cluster cluster;
  cluster.name = node.name;
  cluster.source = map.text("source");
  cluster.domain_gpus = map.integer("domain_gpus", node.gpus, 1, kMostDomainGpus);
  cluster.fabric = plain_fabric();
  if (auto fabric = map.map("fabric")) {
    ERGOMETER_ASSIGN(cluster.fabric, read_fabric(*fabric));
  }
  cluster.node = std::move(node);
  if (map.error()) return tl::unexpected(*map.error());
  return cluster;
}

Result<Cluster> parse_full_cluster(YamlMap& map) {
  const bool groups = map.has("groups");
  map.allow({"name", "aliases", "source", "node", "nodes", "groups", "domain_gpus", "fabric",
             "collectives_from"});
  if (!groups) map.require("node");
  for (const char* key : {"node", "nodes", "collectives_from"})
    if (groups && map.has(key)) map.refuse(key, "stands beside groups; each of them says its own");
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_ASSIGN(Cluster cluster, groups ? read_groups(map) : node_of_cluster(map));
  cluster.name = map.text("name", cluster.name);
  cluster.source = map.text("source", cluster.source);
  if (!groups) cluster.nodes = map.integer("nodes", 0, 1, kMostNodes);
  cluster.domain_gpus = map.integer("domain_gpus", cluster.domain_gpus, 1, kMostDomainGpus);
  if (auto fabric = map.map("fabric")) {
    ERGOMETER_ASSIGN(cluster.fabric, read_fabric(*fabric));
  }
  check_domain(map, cluster);
  fit_topology(map, cluster);
  read_given_algorithms(map, cluster.node.parameters);
  if (map.error()) return tl::unexpected(*map.error());
  return cluster;
}

}  // namespace

void check_domain(YamlMap& map, const Cluster& cluster) {
  if (cluster.domain_gpus % cluster.node.gpus != 0)
    map.refuse("domain_gpus", "found {}; allowed: a multiple of the node's {} GPUs",
               cluster.domain_gpus, cluster.node.gpus);
}

Result<Cluster> node_of_cluster(YamlMap& map) {
  std::string ignored;
  ERGOMETER_ASSIGN(YamlMap file, read_part(map, "node", CatalogKind::kNode, ignored));
  return cluster_of_node(file);
}

Result<Node> read_node_body(YamlMap& map) {
  map.allow({"name", "aliases", "source", "gpu", "gpus", "cpu", "intra", "collectives", "slots",
             "nics", "pcie", "fabric", "domain_gpus", "cooling", "coolings", "parameters",
             "collectives_from"});
  map.require("gpus");
  Node node;
  node.name = map.text("name", "node");
  node.cpu = map.text("cpu");
  node.gpus = static_cast<int>(map.integer("gpus", 1, 1, kMostGpusInNode));
  read_intra(map, node);
  read_slots(map, node);
  read_nics(map, node);
  read_pcie(map, node);
  read_parameters(map, {ParameterOwner::kNode}, "", node.parameters);
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_ASSIGN(node.gpu, read_gpu(map, "gpu"));
  ERGOMETER_TRY(read_collectives(map, "collectives", node.parameters, node.collectives));
  ERGOMETER_TRY(read_coolings(map, node));
  read_given_algorithms(map, node.parameters);
  if (map.error()) return tl::unexpected(*map.error());
  return node;
}

Result<Fabric> read_fabric(YamlMap& map) {
  map.require("kind");
  Fabric fabric;
  fabric.kind =
      static_cast<FabricKind>(map.choice("kind", base::split(words_of(FabricKind{}), '|'), 0));
  allow_fabric_keys(map, fabric.kind);
  fabric.source = map.text("source");
  read_topology(map, fabric);
  for (YamlMap& tier : map.maps("tiers")) {
    tier.allow({"name", "nodes_below", "oversubscription"});
    fabric.tiers.push_back({tier.text("name", fmt::format("tier {}", fabric.tiers.size() + 1)),
                            tier.integer("nodes_below", 0, 0, kMostNodes),
                            tier.real("oversubscription", 1, 1, 1000)});
  }
  if (fabric.tiers.empty()) fabric.tiers.push_back({"leaf", 0, 1.0});
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_TRY(read_collectives(map, "collectives", fabric.parameters, fabric.collectives));
  return fabric;
}

Result<Cluster> parse_cluster(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(yaml, file));
  if (map.has("extends")) return extended_cluster(map, 0);
  if (map.has("architecture"))
    map.refuse("architecture",
               "is a GPU's; a node or a cluster names the GPU's file, as in gpu: ./b100.yaml");
  const bool describes_node = map.has("gpu") || map.has("gpus") || map.has("intra");
  if (map.has("node") || !describes_node) return parse_full_cluster(map);
  ERGOMETER_ASSIGN(Cluster cluster, cluster_of_node(map));
  check_domain(map, cluster);
  fit_topology(map, cluster);
  if (map.error()) return tl::unexpected(*map.error());
  return cluster;
}

Result<Cluster> read_cluster(const std::string& name_or_path) {
  if (name_or_path.starts_with('{')) return parse_cluster(name_or_path, "cluster");
  if (const CatalogEntry* entry = find_cluster(name_or_path))
    return parse_once(*entry, parse_cluster);
  std::error_code ignored;
  if (!std::filesystem::exists(name_or_path, ignored))
    return input_error(
        "{}: neither a cluster or node of the catalog nor a file{} (`ergometer catalog "
        "list` shows all)",
        name_or_path, base::did_you_mean(nearest_cluster(name_or_path)));
  ERGOMETER_ASSIGN(const std::string text, base::read_file(name_or_path, kLargestWritten));
  return parse_cluster(text, name_or_path);
}

}  // namespace ergometer::spec
