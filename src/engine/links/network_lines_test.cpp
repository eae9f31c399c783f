#include "engine/links/network_lines.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/time/test_plan.h"

namespace ergometer::engine {
namespace {

using plan::Pattern;
using plan::Way;

/// A node's eight cards send 8 x 50 GB/s; groups of two nodes, `stride` apart.
struct Lines : testing::Test {
  test::TestPlan test{8, 1, 4, 1};
  std::array<double, 2 * NetworkLines::kMost> shares{};

  Lines() {
    spec::Nic nic;
    nic.bytes_per_s = 50e9;
    test.job.cluster.node.gpus = 8;
    test.job.cluster.node.nics.assign(8, nic);
    test.plan.placements.resize(1);
  }
  size_t collective(workload::CollectiveKind kind, double stride, Way way = Way::kBoth) {
    const auto number =
        static_cast<size_t>(test.communication(kind, workload::GroupKind::kPipeline, 1));
    test.plan.placements[0].push_back({.size = 2,
                                       .nodes = 2,
                                       .ranks_per_node = 1,
                                       .nic_bytes_per_s = 50e9,
                                       .tiers = 2,
                                       .node_stride = stride,
                                       .neighbours = Pattern::kSend,
                                       .way = way});
    return number;
  }
  size_t send(double stride, Way way) {
    return collective(workload::CollectiveKind::kSendRecv, stride, way);
  }
  void on_leaves(double oversubscription) {
    test.job.cluster.fabric.tiers = {{"leaf", 4, oversubscription}, {"spine", 0, 1}};
  }
  /// A ring of 16 nodes whose links have half of what a node's cards have.
  void on_torus() {
    spec::Fabric& fabric = test.job.cluster.fabric;
    fabric.kind = spec::FabricKind::kTorus;
    fabric.topology.dimensions = {{"x", 16, 1, 1, 200e9}};
  }
  NetworkLines lines() const { return {test.job, test.plan}; }
};

// Of four nodes that send to the next one alone sends out of the leaf, whose uplinks carry a
// fourth of what all do: they hold nobody up.
TEST_F(Lines, LinksThatHoldNobodyUpAreNotFollowed) {
  on_leaves(4);
  send(1, Way::kForth);
  EXPECT_EQ(lines().count(), 0U);
  on_leaves(1);
  send(4, Way::kForth);
  EXPECT_EQ(lines().count(), 0U);
}

// Four nodes on, all leave the leaf: four times too much. At an eighth of the cards' rate half of
// the uplinks is asked for, at half of it all, either way: up is what is sent, down what is
// received.
TEST_F(Lines, UplinksAreAskedForWhatClimbs) {
  on_leaves(4);
  const size_t sent = send(4, Way::kForth);
  NetworkLines of = lines();
  EXPECT_TRUE(of.is_tree());
  EXPECT_EQ(of.names(), std::vector<std::string>{"leaf"});
  of.ask(0, sent, 0.125, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.5);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
  of.ask(0, sent, 0.5, shares);
  EXPECT_DOUBLE_EQ(shares[0], 1);
}

TEST_F(Lines, StagesOnATorusHaveADirectionEach) {
  on_torus();
  const size_t forth = send(1, Way::kForth), back = send(1, Way::kBack), both = send(1, Way::kBoth);
  NetworkLines of = lines();
  EXPECT_FALSE(of.is_tree());
  of.ask(0, forth, 0.25, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.5);
  EXPECT_DOUBLE_EQ(shares[1], 0);
  shares.fill(0);
  of.ask(0, back, 0.25, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
  of.ask(0, both, 0.125, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.25);
  EXPECT_DOUBLE_EQ(shares[1], 0.25);
}

// From the last stage to the first an interleaved schedule sends as from one to the next, further:
// four links of the line carry each byte, not one.
TEST_F(Lines, GroupsOfOneKindMayLieApart) {
  on_torus();
  const size_t near = send(1, Way::kForth), far = send(4, Way::kForth);
  NetworkLines of = lines();
  of.ask(0, near, 0.1, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.2);
  of.ask(0, far, 0.1, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.8);
}

// From the last of four stages, four nodes each, to the first: a quarter of the ring on, over the
// link that closes it, not three quarters back.
TEST_F(Lines, TheLastStageSendsForthToTheFirst) {
  on_torus();
  const size_t sent = send(12, Way::kBack);
  NetworkLines of = lines();
  of.ask(0, sent, 0.1, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0.8);
  EXPECT_DOUBLE_EQ(shares[1], 0);
  test.job.cluster.fabric.topology.wraparound = false;
  shares.fill(0);
  NetworkLines open = lines();
  open.ask(0, sent, 0.01, shares);
  EXPECT_DOUBLE_EQ(shares[0], 0);
  EXPECT_DOUBLE_EQ(shares[1], 0.24);
}

}  // namespace
}  // namespace ergometer::engine
