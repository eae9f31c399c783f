#include "engine/time/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/placement.h"

namespace ergometer::engine {
namespace {

using workload::GroupKind;

spec::Job make_job(int64_t tp, int64_t cp, int64_t dp, int64_t ep, int64_t etp) {
  spec::Job job;
  job.parallelism.tp = tp;
  job.parallelism.cp = cp;
  job.parallelism.dp = dp;
  job.parallelism.ep = ep;
  job.parallelism.etp = etp;
  job.gpus = tp * cp * dp;
  return job;
}

/// The groups as sets of positions, as the layout's shape says.
std::set<std::set<int64_t>> groups_of(const GroupShape& shape) {
  std::set<std::set<int64_t>> groups;
  if (!shape.gather.empty()) {
    for (size_t first = 0; first < shape.gather.size(); first += static_cast<size_t>(shape.size))
      groups.emplace(shape.gather.begin() + static_cast<int64_t>(first),
                     shape.gather.begin() + static_cast<int64_t>(first) + shape.size);
    return groups;
  }
  for (int64_t o = 0; o < shape.outer; ++o)
    for (int64_t i = 0; i < shape.inner; ++i) {
      std::set<int64_t> group;
      for (int64_t g = 0; g < shape.size; ++g) group.insert((o * shape.size + g) * shape.inner + i);
      groups.insert(group);
    }
  return groups;
}

/// The same from the definition: members are base + i * stride.
std::set<std::set<int64_t>> expected_groups(const RankLayout& layout, plan::RankGroup group) {
  std::set<std::set<int64_t>> groups;
  for (int64_t base = 0; base < layout.ranks(); ++base) {
    if (base / group.stride % group.size != 0) continue;
    std::set<int64_t> members;
    for (int64_t i = 0; i < group.size; ++i)
      members.insert(layout.position(base + i * group.stride));
    groups.insert(members);
  }
  return groups;
}

// tp 2, dp 3: ranks (tp, dp) = 00 10 01 11 02 12 lie as 00 01 02 10 11 12.
TEST(RankLayout, PutsTensorParallelismOutermost) {
  const RankLayout layout = RankLayout::of_job(make_job(2, 1, 3, 1, 1), 6);
  std::vector<int64_t> positions;
  for (int64_t rank = 0; rank < 6; ++rank) positions.push_back(layout.position(rank));
  EXPECT_EQ(positions, (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  const GroupShape& tensor = layout.group(GroupKind::kTensor);
  EXPECT_EQ(tensor.outer, 1);
  EXPECT_EQ(tensor.size, 2);
  EXPECT_EQ(tensor.inner, 3);
  const GroupShape& data = layout.group(GroupKind::kData);
  EXPECT_EQ(data.outer, 2);
  EXPECT_EQ(data.size, 3);
  EXPECT_EQ(data.inner, 1);
}

TEST(RankLayout, GroupsHoldTheRanksThatTheyShould) {
  const GroupKind kinds[] = {GroupKind::kTensor, GroupKind::kContext,      GroupKind::kData,
                             GroupKind::kExpert, GroupKind::kExpertTensor, GroupKind::kExpertData,
                             GroupKind::kShard,  GroupKind::kReplica};
  const spec::Job jobs[] = {make_job(2, 2, 4, 4, 1), make_job(4, 1, 6, 8, 1),
                            make_job(6, 1, 4, 4, 1), make_job(2, 3, 4, 3, 2),
                            make_job(1, 1, 1, 1, 1), make_job(3, 2, 2, 2, 3)};
  for (const spec::Job& job : jobs) {
    const RankLayout layout = RankLayout::of_job(job, job.gpus);
    std::set<int64_t> positions;
    for (int64_t rank = 0; rank < job.gpus; ++rank) positions.insert(layout.position(rank));
    EXPECT_EQ(static_cast<int64_t>(positions.size()), job.gpus);
    EXPECT_EQ(*positions.rbegin(), job.gpus - 1);
    for (const GroupKind kind : kinds)
      EXPECT_EQ(groups_of(layout.group(kind)), expected_groups(layout, plan::rank_group(job, kind)))
          << "kind " << static_cast<int>(kind) << " tp " << job.parallelism.tp << " ep "
          << job.parallelism.ep;
  }
}

TEST(RankLayout, GathersWhereTwoKindsExcludeEachOther) {
  const RankLayout layout =
      RankLayout::of_job(make_job(6, 1, 4, 4, 1), 24);  // 6 and 4: neither divides the other
  EXPECT_TRUE(layout.group(GroupKind::kTensor).gather.empty());
  EXPECT_EQ(layout.group(GroupKind::kExpert).gather.size(), 24u);
}

}  // namespace
}  // namespace ergometer::engine
