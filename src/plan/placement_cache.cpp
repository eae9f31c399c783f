#include "plan/placement_cache.h"

#include <algorithm>
#include <numeric>

#include "spec/job/node_groups.h"

namespace ergometer::plan {

PlacementCache::PlacementCache(const spec::Job& job) : job_(job) {
  if (!job.parallelism.rank_map.empty() || spec::is_mixed(job.cluster)) {
    // Every stage lies in its own way.
    period_ = job.gpus;
    return;
  }
  const int64_t node = job.cluster.node.gpus;
  period_ = std::lcm(node, domain_segment(job));
  for (const spec::FabricTier& tier : job.cluster.fabric.tiers) {
    if (tier.nodes_below > 0) period_ = std::lcm(period_, node * tier.nodes_below);
  }
}

const GroupPlacement& PlacementCache::of(workload::GroupKind kind, int64_t stage, int64_t onward) {
  const int64_t stages = job_.parallelism.pp;
  if (kind == workload::GroupKind::kPipeline) return pipeline(stage, (stage + 1) % stages, onward);
  const bool world = kind == workload::GroupKind::kWorld || kind == workload::GroupKind::kStages ||
                     kind == workload::GroupKind::kEmbedding;
  const int64_t offset = world ? 0 : stage * job_.stage_ranks() % period_;
  // Stages that follow share the last domain: how many there are matters where the job ends in it.
  const int64_t behind = world ? 0 : (stages - 1 - stage) * job_.stage_ranks();
  const auto [entry, is_new] =
      known_.try_emplace({kind, offset, std::min(behind, period_), onward});
  if (is_new) entry->second = placement(job_, kind, stage, onward);
  return entry->second;
}

const GroupPlacement& PlacementCache::pipeline(int64_t stage, int64_t peer, int64_t onward) {
  const int64_t offset = stage * job_.stage_ranks() % period_;
  const auto [entry, is_new] =
      known_.try_emplace({workload::GroupKind::kPipeline, offset, peer - stage, onward});
  if (is_new) entry->second = pipeline_placement(job_, stage, peer, onward);
  return entry->second;
}

}  // namespace ergometer::plan
