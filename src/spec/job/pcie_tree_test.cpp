#include "spec/job/pcie_tree.h"

#include <gtest/gtest.h>

#include "spec/catalog/read.h"
#include "spec/job/host_link.h"

namespace ergometer::spec {
namespace {

TEST(PcieTree, LineRatesByGenerationAndLanes) {
  EXPECT_DOUBLE_EQ(pcie_bytes_per_s(1, 8), 2e9);        // 2.5 GT/s x 8 lanes x 8/10 / 8 bits
  EXPECT_NEAR(pcie_bytes_per_s(3, 16), 15.754e9, 1e6);  // 8 x 16 x 128/130 / 8
  EXPECT_NEAR(pcie_bytes_per_s(4, 16), 31.508e9, 1e6);
  EXPECT_NEAR(pcie_bytes_per_s(5, 8), 31.508e9, 1e6);
  EXPECT_DOUBLE_EQ(pcie_bytes_per_s(6, 16), 118e9);  // 64 x 16 / 8 = 128, x 236/256
}

TEST(PcieTree, CopiesToTheHostShareUplinks) {
  PcieTree tree;
  tree.bridges = {{-1, 10e9}, {0, 30e9}, {1, 20e9}};
  tree.gpus = {0, 1, 2, 2};
  // Below the first switch are three GPUs, 10 GB/s each, two of them behind another, 10 GB/s too.
  EXPECT_DOUBLE_EQ(host_bytes_per_s(tree, 30e9), 0.8 * 10e9);
  EXPECT_DOUBLE_EQ(host_bytes_per_s(tree, 5e9), 0.8 * 5e9);
  tree.bridges[2].bytes_per_s = 12e9;
  EXPECT_DOUBLE_EQ(host_bytes_per_s(tree, 30e9), 0.8 * 6e9);
}

TEST(PcieTree, ANodesOwnShareGoesBeforeIt) {
  Node node = read_cluster("a40")->node;
  EXPECT_DOUBLE_EQ(host_bytes_per_s(node),
                   node.gpu.parameters.value_or("host_link", kAssumedHostLink) * 0.4);
  PcieTree tree;
  tree.bridges = {{-1, 0}};
  tree.gpus = {0, 0, 0, 0};
  tree.nics = {0};
  const base::Parameter link{0, "B/s", "", base::Grade::kAssumed};
  set_pcie_tree(tree, link, {{}}, node.parameters);
  EXPECT_DOUBLE_EQ(host_bytes_per_s(node),
                   node.gpu.parameters.value_or("host_link", kAssumedHostLink) * 0.8);
  node.parameters.set("host.link_share", {0.5, "", "", base::Grade::kMeasured});
  EXPECT_DOUBLE_EQ(host_bytes_per_s(node),
                   node.gpu.parameters.value_or("host_link", kAssumedHostLink) * 0.5);
}

TEST(PcieTree, OfATreeThatIsReplacedNothingStays) {
  Node node = read_cluster("a40")->node;
  const base::ParameterSet plain = node.parameters;
  const base::Parameter link{10e9, "B/s", "", base::Grade::kAssumed};
  PcieTree tree;
  tree.gpus = {0, 0, 1, 1};
  tree.nics = {0};
  tree.bridges = {{-1, 10e9}, {-1, 10e9}};
  set_pcie_tree(tree, link, {{}, {}}, node.parameters);
  tree.bridges = {{-1, 0}};
  tree.gpus = {0, 0, 0, 0};
  set_pcie_tree(tree, link, {{}}, node.parameters);
  EXPECT_FALSE(node.parameters.has("pcie.bridge1.above"));
  // The bridge and its link, peer_to_peer, gpudirect, four GPUs, one NIC, how many bridges.
  EXPECT_EQ(node.parameters.all().size(), plain.all().size() + 10);
}

}  // namespace
}  // namespace ergometer::spec
