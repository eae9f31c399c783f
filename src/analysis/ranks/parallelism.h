#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Which parallelism a process group serves.
struct Parallelism {
  std::string name;     ///< "tp", "dp", "pp", "cp", "ep", ...; empty: nothing tells
  bool stated = false;  ///< by the group's description; else inferred from what it does
};

/// By group and description, as `run::Collective` has them.
using GroupKey = std::pair<std::string, std::string>;
using GroupLabels = std::map<GroupKey, Parallelism>;

/// Of every group in the traces. What the description does not say
/// (analysis/work/collective_kind.h) is inferred, by the first of these that holds:
///  - it sends and receives messages between two ranks: pp;
///  - it makes all-to-alls: ep;
///  - it has as many members as the job has ranks, or its members are not neighbours: dp;
///  - it has at most 8 members, neighbours in rank: tp.
/// Members are known of the ranks whose traces are there; sizes where the trace states them. The
/// default group is "world" beside groups that state what they are for.
GroupLabels label_groups(const std::vector<run::RankTrace>& ranks);

/// "tp", or "?" where nothing is known of the group.
std::string label_of(const GroupLabels& labels, const run::Collective& collective);

}  // namespace ergometer::analysis
