#include "search/unlike/placements.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

using Map = std::vector<int64_t>;

/// Two nodes of two GPUs, one of each kind.
spec::Job job_of(int64_t tp, int64_t pp, int64_t dp) {
  spec::Job job;
  job.gpus = 4;
  job.cluster.node.gpus = 2;
  job.cluster.groups = {{job.cluster.node, 1}, {job.cluster.node, 1}};
  job.parallelism.tp = tp;
  job.parallelism.pp = pp;
  job.parallelism.dp = dp;
  return job;
}

// Two replicas of two stages: stages on the first kind and the second, replica by replica, or on
// the second kind and the first.
TEST(Placements, StagesOrReplicasLieOnKinds) {
  EXPECT_EQ(placements_of(job_of(1, 2, 2)), (std::vector<Map>{{}, {0, 2, 1, 3}, {2, 3, 0, 1}}));
}

// Replicas of one stage lie on both kinds whatever comes first, and so do two stages of one replica
// but for their order.
TEST(Placements, WhatMakesNoDifferenceIsLeftOut) {
  EXPECT_EQ(placements_of(job_of(1, 1, 4)), (std::vector<Map>{{}}));
  EXPECT_EQ(placements_of(job_of(2, 2, 1)), (std::vector<Map>{{}, {2, 3, 0, 1}}));
}

TEST(Placements, NodesOfOneKindAreTakenInOrder) {
  spec::Job job = job_of(1, 2, 2);
  job.cluster.groups.clear();
  EXPECT_EQ(placements_of(job), (std::vector<Map>{{}}));
}

}  // namespace
}  // namespace ergometer::search
