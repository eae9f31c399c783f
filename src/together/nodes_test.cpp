#include "together/nodes.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::together {
namespace {

spec::Job job_of(int64_t gpus, int64_t domain_gpus = 8) {
  spec::Job job;
  job.gpus = gpus;
  job.cluster.name = "pod";
  job.cluster.node.gpus = 8;
  job.cluster.domain_gpus = domain_gpus;
  job.cluster.fabric.tiers = {{.name = "leaf", .nodes_below = 4, .oversubscription = 2},
                              {.name = "spine", .nodes_below = 8, .oversubscription = 3},
                              {.name = "core", .nodes_below = 0, .oversubscription = 1}};
  return job;
}

TEST(Place, OneBehindTheOtherOrInTurns) {
  const spec::Job a = job_of(16), b = job_of(20);
  EXPECT_EQ(place({&a, &b}, Placement::kPacked), (std::vector<Nodes>{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(place({&a, &b}, Placement::kInterleaved), (std::vector<Nodes>{{0, 2}, {1, 3, 4}}));
}

TEST(Place, GivesWholeDomains) {
  const spec::Job a = job_of(24, 16), b = job_of(32, 16);
  EXPECT_EQ(place({&a, &b}, Placement::kPacked), (std::vector<Nodes>{{0, 1, 2}, {4, 5, 6, 7}}));
  EXPECT_EQ(place({&a, &b}, Placement::kInterleaved),
            (std::vector<Nodes>{{0, 1, 4}, {2, 3, 6, 7}}));
  // 48 GPUs in two racks of 32 are 24 in each: three of four nodes.
  const spec::Job c = job_of(48, 32);
  EXPECT_EQ(place({&c, &c}, Placement::kPacked),
            (std::vector<Nodes>{{0, 1, 2, 4, 5, 6}, {8, 9, 10, 12, 13, 14}}));
}

TEST(GivenNodes, AreChecked) {
  EXPECT_EQ(base::value_of(parse_nodes("0-2+7")), (Nodes{0, 1, 2, 7}));
  EXPECT_FALSE(parse_nodes("0-2+"));
  EXPECT_FALSE(parse_nodes("x"));
  spec::Job a = job_of(16), b = job_of(8);
  const auto error = [&](const std::vector<Nodes>& nodes) {
    return base::error_of(check_nodes({&a, &b}, {"a.yaml", "b.yaml"}, nodes));
  };
  EXPECT_TRUE(check_nodes({&a, &b}, {"a.yaml", "b.yaml"}, {{0, 1}, {5}}));
  EXPECT_TRUE(error({{0}, {5}}).starts_with("--nodes: found 1 for a.yaml, which takes 2 of pod"));
  EXPECT_TRUE(error({{0, 1}, {1}}).starts_with("--nodes: node 1 is given to a.yaml and to b.yaml"));
  a.cluster.nodes = 4;
  EXPECT_EQ(error({{0, 1}, {5}}), "b.yaml would be on node 5; pod has 4, from 0 to 3");
  b.cluster.domain_gpus = 16;
  EXPECT_TRUE(error({{0, 1}, {3}}).starts_with("--nodes: node 3 of b.yaml is number 1 of"));
}

// Leaves carry 4 / 2 nodes' bytes up, spines 8 / 6. Eight nodes in turns with others, two under a
// leaf and four under a spine: 2 / 2 and 4 / 1.33 times what is carried.
TEST(ClusterFor, HasAJobsNodesUnderASwitchAndAllLinksAboveIt) {
  const spec::Cluster pod = job_of(8).cluster;
  const Nodes turns = {0, 2, 4, 6, 8, 10, 12, 14};
  const auto places = tier_places(pod.fabric, turns);
  const spec::Cluster alone = cluster_for(pod, places, {1, 1, 1});
  EXPECT_EQ(alone.fabric.tiers[0].nodes_below, 2);
  EXPECT_DOUBLE_EQ(alone.fabric.tiers[0].oversubscription, 1);
  EXPECT_EQ(alone.fabric.tiers[1].nodes_below, 4);
  EXPECT_DOUBLE_EQ(alone.fabric.tiers[1].oversubscription, 3);
  // Others that take half of the leaves' links are not felt once more above the spine.
  const spec::Cluster shared = cluster_for(pod, places, {2, 1, 1});
  EXPECT_DOUBLE_EQ(shared.fabric.tiers[0].oversubscription, 2);
  EXPECT_DOUBLE_EQ(shared.fabric.tiers[1].oversubscription, 1.5);
}

TEST(ClusterFor, IsTheClusterForAJobOnItsFirstNodes) {
  const spec::Cluster pod = job_of(8).cluster;
  const auto places = tier_places(pod.fabric, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  const spec::Cluster same = cluster_for(pod, places, {1, 1, 1});
  for (size_t tier = 0; tier < 3; ++tier) {
    EXPECT_EQ(same.fabric.tiers[tier].nodes_below, pod.fabric.tiers[tier].nodes_below);
    EXPECT_EQ(same.fabric.tiers[tier].oversubscription, pod.fabric.tiers[tier].oversubscription);
  }
}

TEST(Alike, AreJobsUnderAsManySwitchesOrUnderOne) {
  const spec::Fabric fabric = job_of(8).cluster.fabric;
  EXPECT_TRUE(alike(tier_places(fabric, {0, 1}), tier_places(fabric, {5, 6})));
  EXPECT_FALSE(alike(tier_places(fabric, {0, 1}), tier_places(fabric, {3, 4})));
}

}  // namespace
}  // namespace ergometer::together
