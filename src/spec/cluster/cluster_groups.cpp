// The `groups` of a cluster file: nodes of unlike kinds, side by side.

#include <string>
#include <utility>
#include <vector>

#include "spec/cluster/cluster_reader.h"

namespace ergometer::spec {
namespace {

/// What all groups have in common: ranks are counted in nodes and domains of one size.
void check_sizes(YamlMap& map, const Cluster& first, const Cluster& other) {
  if (other.node.gpus != first.node.gpus)
    map.refuse("node",
               "{} has {} GPUs; allowed: {}, as the groups before it have; gpus: says how "
               "many of each node to use",
               other.node.name, other.node.gpus, first.node.gpus);
  else if (other.domain_gpus != first.domain_gpus)
    map.refuse("node", "{} GPUs of {} share fast links; allowed: {}, as in the groups before it",
               other.domain_gpus, other.node.name, first.domain_gpus);
}

/// What a group's nodes are, as written: equal words are equal nodes.
std::string kind_of(YamlMap& group) {
  std::string kind;
  for (const YamlMap::Item& item : group.items())
    if (item.key != "nodes") kind += item.key + " " + item.value + "\n";
  return kind;
}

/// Leaves the first `gpus` of a node, and the cards that serve them.
void keep_gpus(Node& node, int gpus) {
  node.gpus = gpus;
  node.slots.resize(static_cast<size_t>(gpus));
  for (Nic& nic : node.nics) std::erase_if(nic.gpus, [&](int gpu) { return gpu >= gpus; });
  std::erase_if(node.nics, [](const Nic& nic) { return nic.gpus.empty(); });
}

/// `gpus`: how many GPUs of each node the cluster has, where not all.
void read_gpus_of(YamlMap& group, Cluster& cluster) {
  if (!group.has("gpus")) return;
  const int64_t gpus = group.integer("gpus", 1, 1, cluster.node.gpus);
  if (group.error()) return;
  if (cluster.domain_gpus != cluster.node.gpus)
    return group.refuse("gpus", cluster.node.name +
                                    " shares fast links with other nodes; "
                                    "allowed: all of its GPUs");
  keep_gpus(cluster.node, static_cast<int>(gpus));
  cluster.domain_gpus = gpus;
}

/// "hgx-a100-80gb + hgx-h100"
std::string name_of(const std::vector<NodeGroup>& groups) {
  std::string name;
  for (const NodeGroup& group : groups) name += (name.empty() ? "" : " + ") + group.node.name;
  return name;
}

}  // namespace

Result<Cluster> read_groups(YamlMap& map) {
  Cluster cluster;
  std::string before;
  for (YamlMap& group : map.maps("groups")) {
    group.allow({"node", "nodes", "gpus"});
    group.require("node");
    group.require("nodes");
    const int64_t nodes = group.integer("nodes", 1, 1, kMostNodes);
    if (group.error()) return tl::unexpected(*group.error());
    const std::string kind = kind_of(group);
    if (kind == before) {
      cluster.groups.back().nodes += nodes;
      cluster.nodes += nodes;
      continue;
    }
    before = kind;
    ERGOMETER_ASSIGN(Cluster of_group, node_of_cluster(group));
    read_gpus_of(group, of_group);
    if (group.error()) return tl::unexpected(*group.error());
    if (cluster.groups.empty())
      cluster = of_group;
    else
      check_sizes(group, cluster, of_group);
    if (group.error()) return tl::unexpected(*group.error());
    cluster.nodes += nodes;
    cluster.groups.push_back({std::move(of_group.node), nodes});
  }
  if (map.error()) return tl::unexpected(*map.error());
  if (cluster.groups.empty()) map.refuse("groups", "names no group; allowed: {node, nodes} each");
  if (map.error()) return tl::unexpected(*map.error());
  if (cluster.groups.size() == 1)
    cluster.groups.clear();
  else
    cluster.name = name_of(cluster.groups);
  return cluster;
}

}  // namespace ergometer::spec
