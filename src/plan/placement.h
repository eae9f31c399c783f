#pragma once

#include <cstdint>

#include "plan/network/fabric_load.h"
#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::plan {

/// Ranks of one stage numbered tp fastest: the members of one group are `base + i * stride`, i <
/// size, and the groups tile the stage. A stage's global ranks are `stage * stage_ranks ..`, a
/// rank's GPU is what the rank map says, else the rank; node = GPU / GPUs per node.
struct RankGroup {
  int64_t size = 1;
  int64_t stride = 1;
};

RankGroup rank_group(const spec::Job& job, workload::GroupKind kind);

/// GPUs the job takes of each scale-up domain: all of them, or, of domains of several nodes, the
/// most that divides the job into equal parts (64 of an NVL72's 72 for 256 GPUs), as schedulers
/// place jobs in segments. Where only small parts would be equal, domains are filled.
int64_t domain_segment(const spec::Job& job);

/// Where the members of a group lie, for the collective cost model. All groups of a kind and stage
/// are alike unless the stage does not fill whole nodes; then this describes the worst of them.
struct GroupPlacement {
  int64_t size = 1;
  int64_t nodes = 1;           ///< scale-up domains the group touches
  int64_t ranks_per_node = 1;  ///< members in the domain that has the fewest of them
  /// Line rate one group gets from the NICs its members own on one node while all groups of this
  /// kind communicate at once, those of other stages on the node too, bytes/s per direction; 0 when
  /// the group stays inside a domain.
  double nic_bytes_per_s = 0;
  int64_t tiers = 0;  ///< switch tiers the traffic climbs: 0 inside a domain, 1 leaf, 2 spine, ...
  /// How many times less than `nic_bytes_per_s` the oversubscribed uplinks of the tiers below the
  /// highest leave, while all groups of this kind communicate: to rings and pipelines, whose
  /// traffic leaves a group of switches where its neighbours lie outside, and to exchanges of all
  /// with all.
  double ring_uplink = 1, exchange_uplink = 1;
  double tree_uplink = 1;  ///< the same of trees
  double node_stride = 1;  ///< nodes from one member to the next
  /// Who sends to whom where its members are neighbours, and which way; of a node's circuits those
  /// that lead between stages meanwhile, as FabricGroup has them.
  Pattern neighbours = Pattern::kRing;
  Way way = Way::kBoth;
  int64_t circuits_onward = -1;
  /// What the network's further hops add, seconds: to a step of a ring, to a tree from its leaves
  /// to its root and back, to a message of an exchange.
  double ring_hop_s = 0, tree_hop_s = 0, exchange_hop_s = 0;
  /// Of what leaves a domain, the share that first crosses to another rail inside it, because no
  /// switch joins rails.
  double ring_crosses_rails = 0, exchange_crosses_rails = 0;
};

/// How the fabric sees a group: by its `nodes`, `size`, `node_stride` and `tiers`.
FabricGroup group_on_fabric(const spec::Job& job, const GroupPlacement& where);

/// `onward`: of a node's circuits, those that lead between stages; below 0 what dimensions_of says.
GroupPlacement placement(const spec::Job& job, workload::GroupKind kind, int64_t stage,
                         int64_t onward = -1);

/// The link from `stage` to `peer` (a pipeline neighbour): size 2, worst pair of ranks.
GroupPlacement pipeline_placement(const spec::Job& job, int64_t stage, int64_t peer,
                                  int64_t onward = -1);

}  // namespace ergometer::plan
