#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"

namespace ergometer::spec {
namespace {

std::string message(const std::string& yaml) {
  return base::error_of(parse_cluster(yaml, "c.yaml"));
}

TEST(ExtendedCluster, ChangesWhatItNamesAndNothingElse) {
  const auto base = read_cluster("charllm-h200");
  const auto fast = parse_cluster(
      "extends: charllm-h200\nnode_bandwidth: 800 Gb/s\nnodes: any\nintra_bandwidth: 900 GB/s\n",
      "c.yaml");
  ASSERT_TRUE(fast) << fast.error().message;
  EXPECT_EQ(fast->name, base->name);
  EXPECT_EQ(fast->nodes, 0);
  EXPECT_EQ(fast->node.nics.size(), 1u);
  EXPECT_EQ(fast->node.nics[0].bytes_per_s, 1e11);
  EXPECT_EQ(fast->node.intra_bytes_per_s, 9e11);
  EXPECT_EQ(fast->node.gpu.memory_bytes, base->node.gpu.memory_bytes);
}

TEST(ExtendedCluster, SharesANodesBandwidthAmongItsNics) {
  // Eight NICs of a node: 800 Gb/s together are 100 Gb/s each, 12.5 GB/s.
  const auto each = parse_cluster("{extends: hgx-h100, node_bandwidth: 800 Gb/s}", "c.yaml");
  ASSERT_TRUE(each) << each.error().message;
  for (const Nic& nic : each->node.nics) EXPECT_EQ(nic.bytes_per_s, 12.5e9);
  const auto nic = parse_cluster("{extends: hgx-h100, nic_bandwidth: 100 Gb/s}", "c.yaml");
  EXPECT_EQ(nic->node.nics[7].bytes_per_s, 12.5e9);
}

TEST(ExtendedCluster, CollectivesKeepTheirShareOfOtherLinks) {
  const auto twice = parse_cluster("{extends: hgx-h100, intra_bandwidth: 900 GB/s}", "c.yaml");
  ASSERT_TRUE(twice) << twice.error().message;
  const base::ParameterSet before = read_cluster("hgx-h100")->node.parameters;
  const base::Parameter* ring = twice->node.parameters.find("collective.ring_bandwidth");
  EXPECT_EQ(ring->value, 2 * before.at("collective.ring_bandwidth"));
  EXPECT_EQ(ring->grade, base::Grade::kAssumed);
  EXPECT_EQ(twice->node.parameters.at("collective.latency"), before.at("collective.latency"));
  const auto said = parse_cluster(
      "{extends: hgx-h100, intra_bandwidth: 900 GB/s, intra_collectives: hopper-nvlink}", "c.yaml");
  EXPECT_EQ(said->node.parameters.at("collective.ring_bandwidth"),
            read_cluster("hgx-h100")->node.parameters.at("collective.ring_bandwidth"));
}

TEST(ExtendedCluster, LiesInAnotherAndTakesAnotherGpu) {
  const auto cluster = parse_cluster(
      R"({"extends": {"extends": "charllm-h100", "nodes": 16}, "gpu": "h200-sxm5-141gb",
          "parameters": {"memory": "80 GB"}})",
      "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes, 16);
  EXPECT_EQ(cluster->node.gpu.memory_bytes, 80e9);
  EXPECT_EQ(cluster->node.gpu.memory_bytes_per_s,
            read_cluster("charllm-h200")->node.gpu.memory_bytes_per_s);
}

TEST(ExtendedCluster, RefusesWithTheLine) {
  EXPECT_NE(message("extends: charlm-h200\n").find("did you mean charllm-h200"), std::string::npos);
  EXPECT_NE(message("extends: hgx-h100\nnic_bandwith: 1 GB/s\n").find("c.yaml:2: nic_bandwith"),
            std::string::npos);
  EXPECT_NE(message("extends: hgx-h100\noversubscription: [1, 2, 3]\n").find("has 2 tiers"),
            std::string::npos);
  EXPECT_NE(message("extends: hgx-h100\nnic_bandwidth: 1 GB/s\nnode_bandwidth: 1 GB/s\n")
                .find("one of the two"),
            std::string::npos);
}

}  // namespace
}  // namespace ergometer::spec
