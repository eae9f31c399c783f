#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::together {

/// How jobs lie on a cluster's nodes: one behind the other, or in turns.
enum class Placement : uint8_t { kPacked, kInterleaved };

/// Numbers of a job's nodes in the cluster, in the order of its ranks.
using Nodes = std::vector<int64_t>;

/// Where jobs lie. A job gets whole scale-up domains, which no two jobs share.
std::vector<Nodes> place(const std::vector<const spec::Job*>& jobs, Placement placement);

/// Reads a job's nodes, "0-15" or "0-7+16-23". The error has no place.
Result<Nodes> parse_nodes(const std::string& text);

/// Nothing of a node twice, none that the cluster has not, as many as each job has, and whole
/// scale-up domains. `names`: of the jobs, for messages.
Result<void> check_nodes(const std::vector<const spec::Job*>& jobs,
                         const std::vector<std::string>& names, const std::vector<Nodes>& nodes);

/// A job's nodes by the group of switches of one tier that they are under.
struct TierPlace {
  int64_t below = 0;                  ///< nodes under a group; 0: all, and nothing is above it
  std::map<int64_t, int64_t> groups;  ///< nodes of the job, by the group's number
  int64_t most() const;
  /// Whether the job's traffic leaves the groups upward.
  bool climbs() const { return below > 0 && groups.size() > 1; }
};

/// Tier by tier; none of a network without a tree of switches.
std::vector<TierPlace> tier_places(const spec::Fabric& fabric, const Nodes& nodes);

/// Whether two lie alike, as far as predictions go.
bool alike(const std::vector<TierPlace>& a, const std::vector<TierPlace>& b);

/// The cluster as a job has it that lies so: of every tier as many nodes under a group as the job
/// has there, and to them all the links up, less what others take: `shares[tier]` is what the job's
/// load is multiplied by, 1 without them.
spec::Cluster cluster_for(const spec::Cluster& cluster, const std::vector<TierPlace>& places,
                          const std::vector<double>& shares);

}  // namespace ergometer::together
