#pragma once

#include <algorithm>

#include "spec/job/node_groups.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::spec {

inline constexpr double kAssumedHostLink = 31.5e9;  ///< bytes/s, PCIe 4.0 x16
inline constexpr double kAssumedHostShare = 0.4;

/// Whether a node's PCIe tree tells what copies to the host share, and not `host.link_share`.
inline bool tree_sets_host_rate(const Node& node) {
  return !node.parameters.has("host.link_share") && node.parameters.has("pcie.bridges");
}

/// Bytes a second, one direction, that a GPU copies between its memory and the host's while all
/// GPUs of its node do: the link's peak (`host_link`, data sheet) times what is left of it
/// (`host.link_share`). Where the catalog has no share the node's PCIe tree tells it; without one
/// it is assumed: copies of pinned memory reach 0.8 of PCIe's peak, and two GPUs behind one PCIe
/// switch share its uplink.
inline double host_bytes_per_s(const Node& node) {
  const double link = node.gpu.parameters.value_or("host_link", kAssumedHostLink);
  if (tree_sets_host_rate(node)) return host_bytes_per_s(*pcie_tree(node), link);
  return link * node.parameters.value_or("host.link_share", kAssumedHostShare);
}
/// Of unlike nodes the slowest link, which the others wait for.
inline double host_bytes_per_s(const Cluster& cluster) {
  double least = host_bytes_per_s(node_of_group(cluster, 0));
  for (size_t group = 1; group < group_count(cluster); ++group)
    least = std::min(least, host_bytes_per_s(node_of_group(cluster, group)));
  return least;
}

}  // namespace ergometer::spec
