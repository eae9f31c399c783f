#include "spec/job/node_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::spec {
namespace {

constexpr const char* kMixed =
    "{groups: [{node: hgx-a100-80gb, nodes: 2}, {node: hgx-h100, nodes: 2}]}";

Result<Job> job_on(const char* gpus) {
  return resolve(test::settings_of(
      {{"model", "llama3-8b"}, {"cluster", kMixed}, {"gpus", gpus}, {"global_batch_size", "48"}}));
}

std::string group_error(const std::string& yaml) {
  return base::error_of(parse_cluster(yaml, "mixed.yaml"));
}

TEST(NodeGroups, NodesAreCountedGroupByGroup) {
  const auto cluster = parse_cluster(kMixed, "mixed.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes, 4);
  EXPECT_EQ(group_of_node(*cluster, 1), 0u);
  EXPECT_EQ(group_of_node(*cluster, 2), 1u);
  EXPECT_EQ(node_at(*cluster, 3).gpu.name, "H100-SXM5-80GB");
}

TEST(NodeGroups, MostGpusChooseWhateverTheOrder) {
  const auto most = [](const char* groups, int64_t gpus) {
    const auto cluster = parse_cluster(groups, "mixed.yaml");
    EXPECT_TRUE(cluster);
    return most_common_gpu(*cluster, gpus).name;
  };
  EXPECT_EQ(most("{groups: [{node: mi300x, nodes: 1}, {node: hgx-h100, nodes: 3}]}", 32),
            "H100-SXM5-80GB");
  EXPECT_EQ(most("{groups: [{node: hgx-h100, nodes: 3}, {node: mi300x, nodes: 1}]}", 32),
            "H100-SXM5-80GB");
  // Kinds in several groups add up; of as many, the first by name; only what the job reaches.
  constexpr const char* kApart =
      "{groups: [{node: mi300x, nodes: 2}, {node: hgx-h100, nodes: 3}, {node: mi300x, nodes: 2}]}";
  EXPECT_EQ(most(kApart, 56), "MI300X");
  EXPECT_EQ(most(kApart, 32), "H100-SXM5-80GB");
  EXPECT_EQ(most(kApart, 24), "MI300X");
  // The vendor with most GPUs, then of its kinds the one with most.
  constexpr const char* kVendors =
      "{groups: [{node: mi300x, nodes: 3}, {node: hgx-h100, nodes: 2}, {node: hgx-h200, nodes: "
      "2}]}";
  EXPECT_EQ(most(kVendors, 56), "H100-SXM5-80GB");
}

TEST(NodeGroups, DefaultsDoNotDependOnTheOrder) {
  for (const char* groups : {"{groups: [{node: mi300x, nodes: 1}, {node: hgx-h100, nodes: 3}]}",
                             "{groups: [{node: hgx-h100, nodes: 3}, {node: mi300x, nodes: 1}]}"}) {
    const auto job =
        resolve(test::settings_of({{"model", "llama3-8b"}, {"cluster", groups}, {"gpus", "32"}}));
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->recipe.name, "megatron-lm") << groups;
  }
}

TEST(NodeGroups, GroupsOfOneKindAreThePlainCluster) {
  const auto cluster = parse_cluster(
      "{groups: [{node: hgx-h100, nodes: 2}, {node: hgx-h100, nodes: 3}]}", "mixed.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_FALSE(is_mixed(*cluster));
  EXPECT_EQ(cluster->nodes, 5);
}

TEST(NodeGroups, WhatIsWrongInAGroupIsSaid) {
  EXPECT_NE(group_error("{groups: []}").find("names no group"), std::string::npos);
  EXPECT_NE(group_error("{node: hgx-h100, groups: [{node: hgx-h100, nodes: 1}]}")
                .find("node: stands beside groups"),
            std::string::npos);
  EXPECT_NE(group_error("{groups: [{node: hgx-h100}]}").find("groups[0].nodes"), std::string::npos);
  EXPECT_NE(group_error("{groups: [{node: hgx-h10, nodes: 1}]}").find("did you mean hgx-h100?"),
            std::string::npos);
  EXPECT_NE(group_error("{groups: [{node: hgx-h100, nodes: 1}, {node: a40, nodes: 1}]}")
                .find("a40 has 4 GPUs; allowed: 8"),
            std::string::npos);
}

TEST(NodeGroups, AGroupMayUseSomeGpusOfEachNode) {
  const auto cluster = parse_cluster(
      "{groups: [{node: hgx-h100, nodes: 1, gpus: 4}, {node: a40, nodes: 1}]}", "mixed.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->node.gpus, 4);
  EXPECT_EQ(cluster->node.nics.size(), 4u);
  EXPECT_EQ(cluster->groups[1].node.gpus, 4);
}

TEST(NodeGroups, AJobKeepsTheGroupsThatItReaches) {
  const auto small = job_on("16");
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_FALSE(is_mixed(small->cluster));
  EXPECT_EQ(small->cluster.node.gpu.name, "A100-SXM4-80GB");
  const auto large = job_on("24");
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(group_of_rank(*large, 15), 0u);
  EXPECT_EQ(group_of_rank(*large, 16), 1u);
}

// 12 layers on GPUs of 1 and 2 seconds a layer: 8 x 1 s and 4 x 2 s are even; of 13, the ninth on
// the quick one makes 9 s where a fifth on the slow one would make 10 s.
TEST(NodeGroups, LayersFollowSpeed) {
  const std::vector<double> seconds = {2, 1};
  EXPECT_EQ(layers_by_speed(12, seconds), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(layers_by_speed(13, seconds), (std::vector<int64_t>{4, 9}));
  const std::vector<double> alike = {1, 1, 1};
  EXPECT_EQ(layers_by_speed(7, alike), (std::vector<int64_t>{3, 2, 2}));
}

// Replicas that take 3 s and 1 s for a micro batch share 8 as 2 and 6: both take 6 s. Two of either
// kind share 16 so, and 14 as 1 and 6, which take 6 s as 2 and 5 do; 7 over two pairs of equals
// there is no way to share.
TEST(NodeGroups, MicroBatchesFollowSpeed) {
  using Counts = std::vector<int64_t>;
  const std::vector<double> seconds = {3, 1};
  EXPECT_EQ(batches_by_speed(8, Counts{1, 1}, seconds), (Counts{2, 6}));
  EXPECT_EQ(batches_by_speed(16, Counts{2, 2}, seconds), (Counts{2, 6}));
  EXPECT_EQ(batches_by_speed(14, Counts{2, 2}, seconds), (Counts{1, 6}));
  EXPECT_EQ(batches_by_speed(7, Counts{2, 3}, seconds), (Counts{2, 1}));
  EXPECT_EQ(batches_by_speed(6, Counts{0, 2}, seconds), (Counts{0, 3}));
  EXPECT_TRUE(batches_by_speed(7, Counts{2, 2}, seconds).empty());
}

}  // namespace
}  // namespace ergometer::spec
