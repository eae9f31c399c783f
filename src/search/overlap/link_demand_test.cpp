#include "search/overlap/link_demand.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

/// A node's eight cards send 8 x 50 GB/s.
spec::Job job_on(const spec::Fabric& fabric) {
  spec::Job job;
  spec::Nic nic;
  nic.bytes_per_s = 50e9;
  job.cluster.node.gpus = 8;
  job.cluster.node.nics.assign(8, nic);
  job.cluster.node.intra_bytes_per_s = 450e9;
  job.cluster.fabric = fabric;
  job.gpus = 128;
  return job;
}

spec::Fabric leaves(double oversubscription) {
  spec::Fabric fabric;
  fabric.kind = spec::FabricKind::kRailOptimized;
  fabric.tiers = {{"leaf", 4, oversubscription}, {"spine", 0, 1}};
  return fabric;
}

workload::Operator of_kind(workload::CollectiveKind kind, double bytes) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.collective = kind;
  op.comm_bytes = bytes;
  return op;
}

/// Every group has one rank on each of eight nodes, which are two leaves.
const plan::GroupPlacement kOverTwoLeaves = {
    .size = 8, .nodes = 8, .ranks_per_node = 1, .tiers = 2, .node_stride = 1};

// An eighth of the bytes goes to each of eight ranks: of 8 GB a rank sends 7, in 0.56 s a quarter
// of its card's 50 GB/s, and 4/7 of that climb: 1 - 4/8 = half of all that its node sends.
TEST(LinkDemand, AnExchangeAsksForUplinksByHowFarTheyHoldItUp) {
  const workload::Operator exchange = of_kind(workload::CollectiveKind::kAllToAll, 8e9);
  const LinkDemand wide = link_demand(job_on(leaves(1)), exchange, kOverTwoLeaves, 0.56);
  EXPECT_DOUBLE_EQ(wide.share[LinkDemand::kCards], 0.25);
  EXPECT_EQ(wide.share[LinkDemand::kLines], 0);
  const LinkDemand narrow = link_demand(job_on(leaves(8)), exchange, kOverTwoLeaves, 0.56);
  EXPECT_DOUBLE_EQ(narrow.share[LinkDemand::kCards], 0.25);
  EXPECT_DOUBLE_EQ(narrow.share[LinkDemand::kLines], 0.25 * 8 / 2);  // full
}

TEST(LinkDemand, WhatFillsAnUplinkAloneTakesTwiceAsLongBesideItsLike) {
  const workload::Operator exchange = of_kind(workload::CollectiveKind::kAllToAll, 8e9);
  const LinkDemand one = link_demand(job_on(leaves(8)), exchange, kOverTwoLeaves, 0.56);
  EXPECT_DOUBLE_EQ(stretch_beside(one, one), 2);
  LinkDemand cards = one;
  cards.share = {one.share[LinkDemand::kIntra], one.share[LinkDemand::kCards]};
  EXPECT_DOUBLE_EQ(stretch_beside(one, cards), 1);  // half of the cards in all
  EXPECT_DOUBLE_EQ(stretch_beside(one, only_lines(one)), 2);
}

// Links that have half of what a node's cards have, and a ring that goes both ways round: at a
// quarter of the cards' rate half of what a node sends takes each direction, 1/4 x 2 / 2.
TEST(LinkDemand, ATorusHasALineForEachDimension) {
  spec::Fabric ring;
  ring.kind = spec::FabricKind::kTorus;
  ring.topology.dimensions = {{"x", 16, 1, 1, 200e9}};
  plan::GroupPlacement around = kOverTwoLeaves;
  around.size = around.nodes = 16;
  const workload::Operator gather = of_kind(workload::CollectiveKind::kAllGather, 16e9);
  const LinkDemand demand = link_demand(job_on(ring), gather, around, 15 / 12.5);
  EXPECT_DOUBLE_EQ(demand.share[LinkDemand::kCards], 0.25);
  EXPECT_DOUBLE_EQ(demand.share[LinkDemand::kLines], 0.25 * 2 / 2);
  EXPECT_DOUBLE_EQ(demand.share[LinkDemand::kLines + 1], 0.25 * 2 / 2);
  EXPECT_EQ(demand.share[LinkDemand::kLines + 2], 0);
}

// A message of 1 GB in 40 ms has half of a card's 50 GB/s, and so all of links that have half of a
// node's. Over the closing link it goes against the order of the stages.
TEST(LinkDemand, AMessageTakesOneDirectionOfALine) {
  spec::Fabric ring;
  ring.kind = spec::FabricKind::kTorus;
  ring.topology.dimensions = {{"x", 16, 1, 1, 200e9}};
  plan::GroupPlacement onward = kOverTwoLeaves;
  onward.size = onward.nodes = 2;
  onward.neighbours = plan::Pattern::kSend;
  onward.way = plan::Way::kForth;
  const workload::Operator send = of_kind(workload::CollectiveKind::kSendRecv, 1e9);
  const LinkDemand forth = link_demand(job_on(ring), send, onward, 0.04);
  onward.node_stride = 15;
  const LinkDemand closing = link_demand(job_on(ring), send, onward, 0.04);
  onward.way = plan::Way::kBack;
  onward.node_stride = 1;
  const LinkDemand back = link_demand(job_on(ring), send, onward, 0.04);
  EXPECT_DOUBLE_EQ(forth.share[LinkDemand::kLines], 1);
  EXPECT_EQ(forth.share[LinkDemand::kLines + 1], 0);
  EXPECT_EQ(closing.share, back.share);
  EXPECT_DOUBLE_EQ(stretch_beside(only_lines(forth), only_lines(back)), 1);
  EXPECT_DOUBLE_EQ(stretch_beside(only_lines(closing), only_lines(back)), 2);
}

}  // namespace
}  // namespace ergometer::search
