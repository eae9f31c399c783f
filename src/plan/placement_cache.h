#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "plan/placement.h"

namespace ergometer::plan {

/// Placements of a job's groups, each computed once: stages whose first ranks sit alike in node,
/// domain and switch tiers have the same ones.
class PlacementCache {
 public:
  explicit PlacementCache(const spec::Job& job);
  /// `onward`: as `placement` has it.
  const GroupPlacement& of(workload::GroupKind kind, int64_t stage, int64_t onward = -1);
  const GroupPlacement& pipeline(int64_t stage, int64_t peer, int64_t onward = -1);

 private:
  const spec::Job& job_;
  int64_t period_;  ///< ranks after which nodes, domains and tiers repeat
  std::map<std::tuple<workload::GroupKind, int64_t, int64_t, int64_t>, GroupPlacement> known_;
};

}  // namespace ergometer::plan
