#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::engine {

/// How the groups of one kind lie in a role's vectors: element (o, g, i) of an (outer, size, inner)
/// block is member g of group (o, i). When a kind does not fit the layout, `gather` lists the
/// positions group by group.
struct GroupShape {
  int64_t outer = 1, size = 1, inner = 1;
  std::vector<int32_t> gather;
};

/// The order in which a role's ranks lie in memory. Ranks are numbered tp fastest; the vectors hold
/// them with that number's digits reversed, tp slowest. A tensor-parallel group is then one element
/// from each of tp long contiguous runs, so that the most frequent collective is an element-wise
/// maximum of vectors.
class RankLayout {
 public:
  /// The layout of a role's first `ranks` ranks under the job's groups, all of them or so many that
  /// the others repeat them.
  static RankLayout of_job(const spec::Job& job, int64_t ranks);
  /// The layout of the fewest that all others repeat, in groups and in clocks: rank i of a role is
  /// then as rank i % `ranks()`. `clocks_hz`: one for all, or one for each of the job's ranks.
  static RankLayout of_distinct(const spec::Job& job, int64_t ranks_per_role,
                                std::span<const double> clocks_hz);

  int64_t ranks() const { return ranks_; }
  int64_t position(int64_t index) const;
  const GroupShape& group(workload::GroupKind kind) const {
    return groups_[static_cast<size_t>(kind)];
  }

 private:
  void place_group(workload::GroupKind kind, int64_t stride, int64_t size);
  bool accept_boundary(int64_t boundary);

  int64_t ranks_ = 1;
  std::vector<int64_t> boundaries_;  ///< 1 .. ranks, each divides the next: where digits begin
  std::array<GroupShape, workload::kGroupKindCount> groups_;
};

}  // namespace ergometer::engine
