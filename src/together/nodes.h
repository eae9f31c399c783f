#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::together {

/// How jobs lie on a cluster's nodes: one behind the other, those that are smaller than a node
/// sharing nodes, or in turns, every job on nodes of its own.
enum class Placement : uint8_t { kPacked, kInterleaved };

/// Numbers of a job's nodes in the cluster, in the order of its ranks.
using Nodes = std::vector<int64_t>;

/// Where a job lies.
struct Place {
  Nodes nodes;
  std::vector<int64_t> gpus = {};  ///< of its one node, those that it has; empty: nodes of its own

  bool shares_node() const { return !gpus.empty(); }
  friend bool operator==(const Place&, const Place&) = default;
};

/// "0-7,16-23"; of GPUs of a node "0:4-7".
std::string place_text(const Place& place);

/// Where jobs lie. A job gets whole scale-up domains, which no two jobs share. Packed, one smaller
/// than a node goes to the first node that such jobs have left room on, on its lowest free GPUs: as
/// schedulers fill nodes that jobs may share.
std::vector<Place> place(const std::vector<const spec::Job*>& jobs, Placement placement);

/// Reads where a job lies: nodes, "0-15" or "0-7+16-23", or GPUs of one node, "0:0-3" or
/// "0:0-1+4-5". The error has no place.
Result<Place> parse_place(const std::string& text);

/// Nothing of a node twice, none that the cluster has not, as many as each job has, and whole
/// scale-up domains, but for jobs that are smaller than a node. `names`: of the jobs, for messages.
Result<void> check_places(const std::vector<const spec::Job*>& jobs,
                          const std::vector<std::string>& names, const std::vector<Place>& places);

/// A job's nodes by the group of switches of one tier that they are under; of a link of a node's
/// PCIe tree its GPUs below, by the number of the link in the cluster.
struct TierPlace {
  int64_t below = 0;                  ///< nodes under a group; 0: all, and nothing is above it
  std::map<int64_t, int64_t> groups;  ///< nodes of the job, by the group's number
  bool is_pcie = false;
  int64_t most() const;
  /// Whether the job's traffic leaves the groups upward.
  bool climbs() const { return is_pcie ? !groups.empty() : below > 0 && groups.size() > 1; }
};

/// Tier by tier; none of a network without a tree of switches.
std::vector<TierPlace> tier_places(const spec::Fabric& fabric, const Nodes& nodes);

/// Bridge by bridge of the node's PCIe tree, for a job on some GPUs of a node: it meets others on
/// them. One on nodes of its own meets nobody: no groups. None where nodes say no tree.
std::vector<TierPlace> pcie_places(const spec::Node& node, const Place& place);

/// Whether two lie alike, as far as predictions go.
bool alike(const std::vector<TierPlace>& a, const std::vector<TierPlace>& b);

/// The cluster as a job has it that lies so: of every tier as many nodes under a group as the job
/// has there, and to them all the links up, less what others take: `shares[tier]` is what the job's
/// load is multiplied by, 1 without them. Of a PCIe link what others leave of its rate.
spec::Cluster cluster_for(const spec::Cluster& cluster, const std::vector<TierPlace>& places,
                          const std::vector<double>& shares);

}  // namespace ergometer::together
