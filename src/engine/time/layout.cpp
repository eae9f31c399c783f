#include "engine/time/layout.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "plan/placement.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

using workload::GroupKind;

/// Most frequent first: when two kinds cut the ranks in ways that exclude each other, the later one
/// gathers.
constexpr GroupKind kInsideRole[] = {
    GroupKind::kTensor,       GroupKind::kContext,    GroupKind::kData,  GroupKind::kExpert,
    GroupKind::kExpertTensor, GroupKind::kExpertData, GroupKind::kShard, GroupKind::kReplica};

std::vector<int32_t> gather_positions(const RankLayout& layout, int64_t stride, int64_t size) {
  std::vector<int32_t> positions;
  positions.reserve(static_cast<size_t>(layout.ranks()));
  for (int64_t block = 0; block < layout.ranks(); block += stride * size)
    for (int64_t offset = 0; offset < stride; ++offset)
      for (int64_t member = 0; member < size; ++member)
        positions.push_back(
            static_cast<int32_t>(layout.position(block + offset + member * stride)));
  return positions;
}

/// Each group lies within one period of ranks, goes over whole ones, or holds only ranks that
/// repeat each other.
bool groups_repeat(const spec::Job& job, int64_t period) {
  return std::all_of(std::begin(kInsideRole), std::end(kInsideRole), [&](GroupKind kind) {
    const plan::RankGroup group = plan::rank_group(job, kind);
    const int64_t extent = group.stride * group.size;
    return group.size == 1 || period % extent == 0 || group.stride % period == 0 ||
           (period % group.stride == 0 && extent % period == 0);
  });
}

bool clocks_repeat(std::span<const double> clocks_hz, int64_t ranks_per_role, int64_t period) {
  if (clocks_hz.size() == 1) return true;
  ERGOMETER_CHECK(clocks_hz.size() % static_cast<size_t>(ranks_per_role) == 0,
                  "one clock a rank, or one");
  for (auto role = clocks_hz.begin(); role != clocks_hz.end(); role += ranks_per_role)
    if (!std::equal(role + period, role + ranks_per_role, role)) return false;
  return true;
}

/// Whoever is told apart by its experts' load or its documents is in the period.
bool loads_repeat(const spec::Job& job, int64_t period) {
  if (!job.training.sequence_lengths.is_even()) return false;
  if (job.loads_experts_evenly()) return true;
  const plan::RankGroup group = plan::rank_group(job, GroupKind::kExpert);
  return period % (group.stride * group.size) == 0;
}

/// Ranks that stand for each other run on nodes of one kind.
bool nodes_repeat(const spec::Job& job, int64_t ranks_per_role, int64_t period) {
  if (!spec::is_mixed(job.cluster)) return true;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    if (spec::group_of_rank(job, rank) !=
        spec::group_of_rank(job, rank - rank % ranks_per_role + rank % ranks_per_role % period))
      return false;
  return true;
}

}  // namespace

bool RankLayout::accept_boundary(int64_t boundary) {
  const auto above = std::ranges::lower_bound(boundaries_, boundary);
  if (above != boundaries_.end() && *above == boundary) return true;
  if (above == boundaries_.end() || *above % boundary != 0 || boundary % *(above - 1) != 0)
    return false;
  boundaries_.insert(above, boundary);
  return true;
}

void RankLayout::place_group(GroupKind kind, int64_t stride, int64_t size) {
  GroupShape& shape = groups_[static_cast<size_t>(kind)];
  const bool aligned = std::ranges::binary_search(boundaries_, stride) &&
                       std::ranges::binary_search(boundaries_, stride * size);
  if (size == 1) {
    shape = {.outer = 1, .size = 1, .inner = ranks_, .gather = {}};
  } else if (aligned) {
    shape = {.outer = stride, .size = size, .inner = ranks_ / (stride * size), .gather = {}};
  } else {
    shape = {.outer = ranks_ / size,
             .size = size,
             .inner = 1,
             .gather = gather_positions(*this, stride, size)};
  }
}

RankLayout RankLayout::of_distinct(const spec::Job& job, int64_t ranks_per_role,
                                   std::span<const double> clocks_hz) {
  const int64_t tp = job.parallelism.tp;
  for (int64_t period = tp; period < ranks_per_role; period += tp)
    if (ranks_per_role % period == 0 && groups_repeat(job, period) && loads_repeat(job, period) &&
        clocks_repeat(clocks_hz, ranks_per_role, period) &&
        nodes_repeat(job, ranks_per_role, period))
      return of_job(job, period);
  return of_job(job, ranks_per_role);
}

RankLayout RankLayout::of_job(const spec::Job& job, int64_t ranks) {
  // What of a group lies in the ranks kept.
  const auto kept_group = [&](GroupKind kind) -> plan::RankGroup {
    const plan::RankGroup group = plan::rank_group(job, kind);
    if (group.stride >= ranks) return {1, 1};
    return {std::min(group.size, ranks / group.stride), group.stride};
  };
  RankLayout layout;
  layout.ranks_ = ranks;
  layout.boundaries_ = {1};
  if (ranks > 1) layout.boundaries_.push_back(ranks);
  for (const GroupKind kind : kInsideRole) {
    const plan::RankGroup group = kept_group(kind);
    ERGOMETER_CHECK(ranks % (group.stride * group.size) == 0,
                    "the groups of a kind must tile the stage");
    if (group.size > 1 && layout.accept_boundary(group.stride))
      layout.accept_boundary(group.stride * group.size);
  }
  for (const GroupKind kind : kInsideRole) {
    const plan::RankGroup group = kept_group(kind);
    layout.place_group(kind, group.stride, group.size);
  }
  return layout;
}

int64_t RankLayout::position(int64_t index) const {
  int64_t position = 0;
  for (size_t digit = 0; digit + 1 < boundaries_.size(); ++digit) {
    const int64_t value = index % boundaries_[digit + 1] / boundaries_[digit];
    position += value * (ranks_ / boundaries_[digit + 1]);
  }
  return position;
}

}  // namespace ergometer::engine
