#include "together/nodes.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/job/pcie_tree.h"

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
  EXPECT_EQ(place({&a, &b}, Placement::kPacked), (std::vector<Place>{{{0, 1}}, {{2, 3, 4}}}));
  EXPECT_EQ(place({&a, &b}, Placement::kInterleaved), (std::vector<Place>{{{0, 2}}, {{1, 3, 4}}}));
}

TEST(Place, GivesWholeDomains) {
  const spec::Job a = job_of(24, 16), b = job_of(32, 16);
  EXPECT_EQ(place({&a, &b}, Placement::kPacked), (std::vector<Place>{{{0, 1, 2}}, {{4, 5, 6, 7}}}));
  EXPECT_EQ(place({&a, &b}, Placement::kInterleaved),
            (std::vector<Place>{{{0, 1, 4}}, {{2, 3, 6, 7}}}));
  // 48 GPUs in two racks of 32 are 24 in each: three of four nodes.
  const spec::Job c = job_of(48, 32);
  EXPECT_EQ(place({&c, &c}, Placement::kPacked),
            (std::vector<Place>{{{0, 1, 2, 4, 5, 6}}, {{8, 9, 10, 12, 13, 14}}}));
}

// 4 + 3 GPUs on the first node, 2 more on the next, the last one on what is left of the first.
TEST(Place, PacksSmallJobsOnNodesWithRoom) {
  const spec::Job four = job_of(4), whole = job_of(16), three = job_of(3), two = job_of(2),
                  one = job_of(1);
  EXPECT_EQ(
      place({&four, &whole, &three, &two, &one}, Placement::kPacked),
      (std::vector<Place>{{{0}, {0, 1, 2, 3}}, {{1, 2}}, {{0}, {4, 5, 6}}, {{3}}, {{0}, {7}}}));
  EXPECT_EQ(place({&four, &three}, Placement::kInterleaved), (std::vector<Place>{{{0}}, {{1}}}));
}

TEST(GivenNodes, AreChecked) {
  EXPECT_EQ(base::value_of(parse_place("0-2+7")), (Place{{0, 1, 2, 7}}));
  EXPECT_EQ(base::value_of(parse_place("3:0-1+5")), (Place{{3}, {0, 1, 5}}));
  for (const char* wrong : {"0-2+", "x", "", ":0", "0:", "0-1:0-3", "0:0:1"})
    EXPECT_FALSE(parse_place(wrong)) << wrong;
  EXPECT_EQ(place_text({{3}, {0, 1, 5}}), "3:0-1,5");
  spec::Job a = job_of(16), b = job_of(8);
  const auto error = [&](const std::vector<Place>& nodes) {
    return base::error_of(check_places({&a, &b}, {"a.yaml", "b.yaml"}, nodes));
  };
  EXPECT_TRUE(check_places({&a, &b}, {"a.yaml", "b.yaml"}, {{{0, 1}}, {{5}}}));
  EXPECT_TRUE(
      error({{{0}}, {{5}}}).starts_with("--nodes: found 1 for a.yaml, which takes 2 of pod"));
  EXPECT_TRUE(
      error({{{0, 1}}, {{1}}}).starts_with("--nodes: node 1 is given to a.yaml and to b.yaml"));
  a.cluster.nodes = 4;
  EXPECT_EQ(error({{{0, 1}}, {{5}}}), "b.yaml would be on node 5; pod has 4, from 0 to 3");
  b.cluster.domain_gpus = 16;
  EXPECT_TRUE(error({{{0, 1}}, {{3}}}).starts_with("--nodes: node 3 of b.yaml is number 1 of"));
}

TEST(GivenNodes, GpusOfANodeHaveOneJobEach) {
  const spec::Job a = job_of(4), b = job_of(2), whole = job_of(8);
  const auto error = [&](const spec::Job& other, const Place& first, const Place& second) {
    return base::error_of(check_places({&a, &other}, {"a.yaml", "b.yaml"}, {first, second}));
  };
  EXPECT_TRUE(check_places({&a, &b}, {"a", "b"}, {{{0}, {0, 1, 2, 3}}, {{0}, {6, 7}}}));
  EXPECT_EQ(error(b, {{0}, {0, 1, 2, 3}}, {{0}, {3, 4}}),
            "--nodes: GPU 3 of node 0 is given to a.yaml and to b.yaml");
  EXPECT_EQ(error(b, {{0}, {0, 1, 1, 3}}, {{0}, {4, 5}}),
            "--nodes: GPU 1 of node 0 is given to a.yaml twice");
  EXPECT_EQ(error(b, {{0}, {0, 1, 2, 8}}, {{0}, {4, 5}}),
            "--nodes: a.yaml would be on GPU 8 of node 0; a node of pod has 8, from 0 to 7");
  EXPECT_EQ(error(b, {{0}, {0, 1}}, {{0}, {4, 5}}),
            "--nodes: found 2 GPUs for a.yaml, which has 4");
  EXPECT_TRUE(error(b, {{0}}, {{0}, {4, 5}}).starts_with("--nodes: node 0 is given to a.yaml and"));
  EXPECT_TRUE(error(whole, {{0}, {0, 1, 2, 3}}, {{1}, {0, 1, 2, 3, 4, 5, 6, 7}})
                  .starts_with("--nodes: found GPUs of a node for b.yaml, which has 8 GPUs"));
}

// Two sockets with a switch each, GPUs 0 to 3 and 4 to 7 below: a job on 2 to 5 has two below each.
TEST(PciePlaces, CountGpusBelowEveryBridge) {
  spec::Node node;
  node.gpus = 8;
  const spec::PcieTree tree{.bridges = {{-1, 10e9}, {0, 20e9}, {-1, 10e9}, {2, 20e9}},
                            .gpus = {1, 1, 1, 1, 3, 3, 3, 3},
                            .nics = {}};
  const base::Parameter link{10e9, "B/s", "", base::Grade::kDatasheet};
  spec::set_pcie_tree(tree, link, std::vector<base::Parameter>(4, link), node.parameters);
  const auto places = pcie_places(node, {{5}, {2, 3, 4, 5}});
  ASSERT_EQ(places.size(), 4U);
  for (int64_t bridge = 0; bridge < 4; ++bridge)
    EXPECT_EQ(places[static_cast<size_t>(bridge)].groups,
              (std::map<int64_t, int64_t>{{5 * 4 + bridge, 2}}));
  EXPECT_FALSE(pcie_places(node, {{5}}).front().climbs());
  EXPECT_TRUE(pcie_places(spec::Node{}, {{5}, {0}}).empty());
  // What others leave of a link.
  spec::Cluster cluster;
  cluster.node = node;
  const spec::Cluster slower = cluster_for(cluster, places, {1, 2, 1, 4});
  const spec::PcieTree left = *spec::pcie_tree(slower.node);
  EXPECT_EQ(left.bridges[0].bytes_per_s, 10e9);
  EXPECT_EQ(left.bridges[1].bytes_per_s, 5e9);
  EXPECT_EQ(left.bridges[3].bytes_per_s, 2.5e9);
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
