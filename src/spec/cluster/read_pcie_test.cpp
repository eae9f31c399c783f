#include <gtest/gtest.h>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::spec {
namespace {

std::string with_tree(const std::string& tree) { return "{extends: a40, pcie: " + tree + "}"; }
std::string tree_error(const std::string& tree) {
  return base::error_of(parse_cluster(with_tree(tree), "c.yaml"));
}

TEST(ReadPcie, NothingSaidIsNoTree) { EXPECT_FALSE(pcie_tree(read_cluster("a40")->node)); }

TEST(ReadPcie, SwitchesHangOnSocketsAndOnEachOther) {
  const auto cluster = parse_cluster(with_tree(R"({socket_link: 16 GB/s, peer_to_peer: false,
    sockets: [{gpus: [3], switches: [{uplink: gen4 x16, nics: [0], switches: [
      {uplink: 8 GB/s, gpus: [0, 1]}]}]}, {gpus: [2]}]})"),
                                     "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  const std::optional<PcieTree> tree = pcie_tree(cluster->node);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->sockets(), 2);
  EXPECT_EQ(tree->switches(), 2);
  EXPECT_EQ(tree->gpus, (std::vector<int>{2, 2, 3, 0}));
  EXPECT_EQ(tree->nics, (std::vector<int>{1}));
  EXPECT_EQ(tree->bridges[0].above, -1);
  EXPECT_EQ(tree->bridges[0].bytes_per_s, 16e9);
  EXPECT_EQ(tree->bridges[1].above, 0);
  EXPECT_EQ(tree->bridges[1].bytes_per_s, pcie_bytes_per_s(4, 16));
  EXPECT_EQ(tree->bridges[2].above, 1);
  EXPECT_EQ(tree->bridges[2].bytes_per_s, 8e9);
  EXPECT_FALSE(tree->peer_to_peer);
  EXPECT_FALSE(tree->gpudirect);  // as peer_to_peer unless it is given
}

TEST(ReadPcie, RefusesWhatDoesNotHangTogether) {
  EXPECT_EQ(tree_error("{sockets: [{gpus: [0, 1, 2], nics: [0]}]}"),
            "c.yaml:1: pcie.sockets: GPU 3 hangs on none of them");
  EXPECT_EQ(tree_error("{sockets: [{gpus: [0, 1, 2, 3]}]}"),
            "c.yaml:1: pcie.sockets: NIC 0 hangs on none of them");
  EXPECT_TRUE(tree_error("{sockets: [{gpus: [0, 1, 2, 3, 0], nics: [0]}]}")
                  .ends_with("gpus: GPU 0 hangs on another already"));
  EXPECT_NE(tree_error("{sockets: [{gpus: [0, 1, 2, 3], nics: [0]}, {}]}").find("socket_link"),
            std::string::npos);
  EXPECT_NE(
      tree_error("{sockets: [{switches: [{uplink: gen7 x16, gpus: [0, 1, 2, 3], nics: [0]}]}]}")
          .find("found \"gen7 x16\"; allowed: gen1 to gen6 and x1 to x32"),
      std::string::npos);
}

}  // namespace
}  // namespace ergometer::spec
