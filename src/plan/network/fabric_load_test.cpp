#include "plan/network/fabric_load.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/placement.h"
#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using spec::FabricKind;
using spec::Routing;
using workload::GroupKind;

/// Nodes that send 100 GB/s.
spec::Cluster cluster_of(FabricKind kind) {
  spec::Cluster cluster = test::rail_cluster();
  cluster.node.nics = {{100e9, {0, 1, 2, 3, 4, 5, 6, 7}}};
  cluster.fabric.kind = kind;
  cluster.fabric.tiers.clear();
  return cluster;
}

void add_dimension(spec::Fabric& fabric, const char* name, int64_t size, int64_t step, int64_t unit,
                   double link_bytes_per_s) {
  if (fabric.tiers.empty()) fabric.tiers.push_back({"switch", step, 1});
  fabric.topology.dimensions.push_back({name, size, step, unit, link_bytes_per_s});
  fabric.tiers.push_back({name, step * size, 1});
}

/// 4 x 4 x 4 nodes whose six links together are as fast as their cards.
spec::Cluster torus() {
  spec::Cluster cluster = cluster_of(FabricKind::kTorus);
  int64_t step = 1;
  for (const char* name : {"x", "y", "z"}) {
    add_dimension(cluster.fabric, name, 4, step, 1, 100e9 / 6);
    step *= 4;
  }
  return cluster;
}

/// Frontier: 74 groups of 32 switches of 4 nodes, links of 25 GB/s, one inside and four between.
spec::Cluster dragonfly(Routing routing) {
  spec::Cluster cluster = cluster_of(FabricKind::kDragonfly);
  add_dimension(cluster.fabric, "local", 32, 4, 4, 25e9);
  add_dimension(cluster.fabric, "global", 74, 128, 128, 100e9);
  cluster.fabric.topology.routing = routing;
  return cluster;
}

/// 4 x 4 switches of two nodes.
spec::Cluster hyperx(Routing routing) {
  spec::Cluster cluster = cluster_of(FabricKind::kHyperX);
  add_dimension(cluster.fabric, "x", 4, 2, 2, 50e9);
  add_dimension(cluster.fabric, "y", 4, 8, 2, 50e9);
  cluster.fabric.topology.routing = routing;
  return cluster;
}

/// Nodes with four links of a quarter of their cards' rate into circuit switches.
spec::Cluster optical(int64_t degree = 4) {
  spec::Cluster cluster = cluster_of(FabricKind::kOptical);
  cluster.fabric.topology.circuits.degree = degree;
  cluster.fabric.topology.circuits.link_bytes_per_s = 25e9;
  return cluster;
}

double bytes_on(const FabricLoad& load, std::string_view name) {
  for (const LinkLoad& link : load.links)
    if (link.link == name) return link.bytes;
  return 0;
}

TEST(FabricLoad, ATorusExchangesThroughItsBisection) {
  // 32 nodes on either side send 32/63 of their bytes across, over 16 lines cut twice: 32 links one
  // way. 32 x 32/63 / 32 = 0.508 bytes a link, of a sixth of the cards' rate: 3.05 times as long.
  const FabricLoad load = fabric_load(torus(), Pattern::kAllToAll, {64, 1, 4});
  for (const char* name : {"x", "y", "z"}) EXPECT_NEAR(bytes_on(load, name), 32.0 / 63, 1e-12);
  EXPECT_NEAR(load.slowdown(), 6 * 32.0 / 63, 1e-12);
  EXPECT_EQ(load.hops, 6);  // two along every dimension to the farthest
  // Not closed, the middle is cut once: twice as much on its links.
  spec::Cluster mesh = torus();
  mesh.fabric.topology.wraparound = false;
  EXPECT_NEAR(bytes_on(fabric_load(mesh, Pattern::kAllToAll, {64, 1, 4}), "x"), 64.0 / 63, 1e-12);
}

TEST(FabricLoad, RingsOfATorusUseTheDimensionsThatTheySpan) {
  // Along y alone, half a byte either way on two of six links: three times as long as the cards.
  const FabricLoad line = fabric_load(torus(), Pattern::kRing, {4, 4, 3});
  EXPECT_EQ(line.links.size(), 1u);
  EXPECT_NEAR(bytes_on(line, "y"), 0.5, 1e-12);
  EXPECT_NEAR(line.slowdown(), 3, 1e-12);
  // All of it by three disjoint rings both ways: a sixth on each link, as much as the cards send.
  const FabricLoad all = fabric_load(torus(), Pattern::kRing, {64, 1, 4});
  for (const char* name : {"x", "y", "z"}) EXPECT_NEAR(bytes_on(all, name), 1.0 / 6, 1e-12);
  EXPECT_NEAR(all.slowdown(), 1, 1e-12);
  EXPECT_EQ(all.hops, 1);
  // Two of a line of four: what closes the ring comes back over the link of the other direction.
  EXPECT_NEAR(bytes_on(fabric_load(torus(), Pattern::kRing, {2, 4, 3}), "y"), 1, 1e-12);
}

TEST(FabricLoad, PipelinesOfATorusGoStraight) {
  // Stages of a plane: every node sends to the one above it. Two planes on, every link carries what
  // two nodes send; three on is one back.
  for (const auto& [stride, distance] : {std::pair{16.0, 1.0}, {32.0, 2.0}, {48.0, 1.0}}) {
    const FabricLoad load = fabric_load(torus(), Pattern::kSend, {2, stride, 4});
    EXPECT_NEAR(bytes_on(load, "z"), distance, 1e-12);
    EXPECT_EQ(load.hops, distance);
    EXPECT_NEAR(load.slowdown(), 6 * distance, 1e-12);
  }
}

TEST(FabricLoad, TreesSendHalfToTheirNeighboursAndLessFarther) {
  // Of a line of four, half of the nodes one away and a quarter two away, half of it up and half
  // down: (1/2 x 1 + 1/4 x 2) / 2.
  const FabricLoad line = fabric_load(torus(), Pattern::kTree, {4, 4, 3});
  EXPECT_NEAR(bytes_on(line, "y"), 0.5, 1e-12);
  EXPECT_EQ(line.hops, 3);
  EXPECT_EQ(line.hops_beyond_first(), 1);
  // 64 nodes under leaves of 32: 1/2 x 1 + 1/4 x 2 + ... six levels of half a node's bytes.
  const spec::Cluster tree = test::rail_cluster();
  EXPECT_NEAR(bytes_on(fabric_load(tree, Pattern::kTree, {64, 1, 2}), "leaf"), 3, 1e-12);
}

TEST(FabricLoad, UplinksCarryWhatLeavesTheirSwitches) {
  // Leaves of 32, uplinks for 8: of a ring of neighbours one of 32 leaves; of members 32 apart all;
  // of a pipeline's stages of eight nodes eight; of an exchange of 64 half of 32.
  spec::Cluster cluster = test::rail_cluster();
  cluster.fabric.tiers[0].oversubscription = 4;
  const auto leaf = [&](Pattern pattern, double members, double stride) {
    return fabric_load(cluster, pattern, {members, stride, 2});
  };
  EXPECT_EQ(bytes_on(leaf(Pattern::kRing, 64, 1), "leaf"), 1);
  EXPECT_EQ(bytes_on(leaf(Pattern::kRing, 2, 32), "leaf"), 32);
  EXPECT_EQ(leaf(Pattern::kRing, 2, 32).slowdown(), 4);
  EXPECT_EQ(bytes_on(leaf(Pattern::kSend, 2, 8), "leaf"), 8);
  EXPECT_EQ(bytes_on(leaf(Pattern::kAllToAll, 64, 1), "leaf"), 16);
  EXPECT_EQ(leaf(Pattern::kAllToAll, 64, 1).slowdown(), 2);
  EXPECT_EQ(leaf(Pattern::kAllToAll, 64, 1).hops, 2);
}

TEST(FabricLoad, ValiantDoublesWhatGlobalLinksCarry) {
  // A group's 128 nodes send to another group: all on the pair's links, or spread over the links to
  // 73 groups, twice each.
  const auto send = [](Routing routing) {
    return fabric_load(dragonfly(routing), Pattern::kSend, {2, 128, 3});
  };
  EXPECT_NEAR(bytes_on(send(Routing::kMinimal), "global"), 128, 1e-12);
  EXPECT_NEAR(bytes_on(send(Routing::kAdaptive), "global"), 2 * 128.0 / 73, 1e-12);
  EXPECT_EQ(send(Routing::kMinimal).hops, 3);
  EXPECT_EQ(send(Routing::kAdaptive).hops, 5);
  // A ring of neighbours has one node in each group that sends to the next.
  const FabricLoad ring = fabric_load(dragonfly(Routing::kMinimal), Pattern::kRing, {9472, 1, 3});
  EXPECT_NEAR(bytes_on(ring, "global"), 1, 1e-12);
  // Inside: the last node of a switch to the next, and 4 of 128 that leave on two ways of 32.
  EXPECT_NEAR(bytes_on(ring, "local"), 1 + 2 * 4 / 128.0 / 32, 1e-12);
}

TEST(FabricLoad, ADragonflyExchangesAtItsTaper) {
  // All to all, a pair of groups exchanges what 128 x 128 / 9471 nodes send over links as fast as
  // one node: 73 x 4 links for 512 cards are 57 % of their rate.
  const FabricLoad all =
      fabric_load(dragonfly(Routing::kAdaptive), Pattern::kAllToAll, {9472, 1, 3});
  EXPECT_NEAR(bytes_on(all, "global"), 128.0 * 128 / 9471, 1e-9);
  EXPECT_EQ(all.fullest()->link, "global");
  // Between two switches of a group: 4 x 4 / 9471 nodes' bytes that stay, and of those of 4 nodes
  // that leave, or come, a 32nd each.
  EXPECT_NEAR(bytes_on(all, "local"), (4.0 * 4 + 2 * 4 * 9344 / 32.0) / 9471, 1e-9);
  EXPECT_NEAR(1 / all.slowdown(), 73.0 * 4 / 512, 0.01);
  // Two groups alone: half of 128 nodes' bytes on one pair's links, adaptively on all.
  const auto pair = [](Routing routing) {
    return fabric_load(dragonfly(routing), Pattern::kAllToAll, {256, 1, 3});
  };
  EXPECT_NEAR(bytes_on(pair(Routing::kMinimal), "global"), 64 * 256 / 255.0, 1e-9);
  EXPECT_NEAR(bytes_on(pair(Routing::kAdaptive), "global"), 2 * 64 * 256 / 255.0 / 73, 1e-9);
}

TEST(FabricLoad, AHyperXIsAFullMeshAlongEveryDimension) {
  // All to all of 32 nodes: 24 of 31 others lie in another column, 32 x 24/31 bytes on the 4 x 12
  // links along x.
  const FabricLoad all = fabric_load(hyperx(Routing::kMinimal), Pattern::kAllToAll, {32, 1, 3});
  for (const char* name : {"x", "y"}) EXPECT_NEAR(bytes_on(all, name), 32 * 24.0 / 31 / 48, 1e-12);
  EXPECT_EQ(all.hops, 2);
  // From switch to switch both nodes send over one link; adaptively over all three, twice.
  const auto send = [](Routing routing) {
    return bytes_on(fabric_load(hyperx(routing), Pattern::kSend, {2, 8, 3}), "y");
  };
  EXPECT_NEAR(send(Routing::kMinimal), 2, 1e-12);
  EXPECT_NEAR(send(Routing::kAdaptive), 4.0 / 3, 1e-12);
}

TEST(FabricLoad, CircuitsJoinAJobsNodesInRings) {
  // 12 nodes, strides 1, 5, 7, 11: four rings, a quarter of the bytes on each, as fast as cards.
  const FabricGroup all{.members = 12, .nodes = 12};
  const FabricLoad ring = fabric_load(optical(), Pattern::kRing, all);
  EXPECT_NEAR(bytes_on(ring, "circuit"), 0.25, 1e-12);
  EXPECT_NEAR(ring.slowdown(), 1, 1e-12);
  EXPECT_EQ(ring.hops_beyond_first(), 0);
  // 20 hops to 11 others over four links.
  const FabricLoad exchange = fabric_load(optical(), Pattern::kAllToAll, all);
  EXPECT_NEAR(bytes_on(exchange, "circuit"), 20.0 / 44, 1e-12);
  EXPECT_EQ(exchange.hops, 3);
  // A tree: 1 away direct; 2 (1 + 1, 7 + 7), 4 (5 + 11) and 8 (1 + 7) away over two links, a byte
  // on the fullest each. Half of that is up, half down: 1/4 + 1/8 + 1/16 + 1/32.
  const FabricLoad tree = fabric_load(optical(), Pattern::kTree, all);
  EXPECT_NEAR(bytes_on(tree, "circuit"), 15.0 / 32, 1e-12);
  EXPECT_EQ(tree.levels, 4);
  EXPECT_EQ(tree.hops, 7);
}

TEST(FabricLoad, CircuitsOfAPipelineLeadFromStageToStage) {
  // Four stages of three nodes: two links in rings of three, two to the stages before and behind.
  const auto load = [](Pattern pattern, double members, double stride) {
    return fabric_load(optical(), pattern,
                       {.members = members, .stride = stride, .nodes = 12, .stages = 4});
  };
  EXPECT_NEAR(bytes_on(load(Pattern::kRing, 3, 1), "ring"), 0.5, 1e-12);
  EXPECT_EQ(load(Pattern::kRing, 3, 1).links.size(), 1u);
  EXPECT_NEAR(bytes_on(load(Pattern::kAllToAll, 3, 1), "ring"), 0.5, 1e-12);  // each direct
  EXPECT_EQ(bytes_on(load(Pattern::kSend, 2, 3), "stage"), 1);
  EXPECT_EQ(load(Pattern::kSend, 2, 3).hops, 1);
  EXPECT_EQ(load(Pattern::kSend, 2, 3).slowdown(), 4);
  EXPECT_EQ(bytes_on(load(Pattern::kSend, 2, 9), "stage"), 1);  // the last one's to the first
  // Two stages on: half of it by either way, both over two links.
  EXPECT_EQ(load(Pattern::kSend, 2, 6).hops, 2);
  EXPECT_EQ(bytes_on(load(Pattern::kSend, 2, 6), "stage"), 1);
  // Two stages are joined by all links for stages, and all nodes by links of both kinds.
  const FabricLoad two =
      fabric_load(optical(), Pattern::kSend, {.members = 2, .stride = 6, .nodes = 12, .stages = 2});
  EXPECT_EQ(bytes_on(two, "stage"), 0.5);
  EXPECT_NEAR(bytes_on(load(Pattern::kRing, 12, 1), "ring"), 0.25, 1e-12);
  EXPECT_NEAR(bytes_on(load(Pattern::kRing, 12, 1), "stage"), 0.25, 1e-12);
  // A single link a node is one ring: three nodes on over three links, and back over nine.
  const FabricLoad one = fabric_load(optical(1), Pattern::kSend,
                                     {.members = 2, .stride = 3, .nodes = 12, .stages = 4});
  EXPECT_EQ(bytes_on(one, "circuit"), 9);
}

TEST(FabricLoad, RingsOfFewerNodesThanTheirCircuitsGoBackOverThem) {
  // Four of 12 neighbours over strides 1 and 11, half of the bytes each way round: 3/4 of them go
  // to the next node, 1/4 three nodes back. Either link carries half of 3/4 and of 3 x 1/4.
  const FabricLoad ring = fabric_load(optical(2), Pattern::kRing, {.members = 4, .nodes = 12});
  EXPECT_NEAR(bytes_on(ring, "circuit"), 0.75, 1e-12);
  EXPECT_EQ(ring.hops, 3);
}

TEST(FabricLoad, PlanesLeaveAMessageThePartOfOne) {
  spec::Cluster cluster = test::rail_cluster();
  cluster.fabric.tiers[0].oversubscription = 4;
  const auto slower = [&](Pattern pattern, double flows, double members = 2) {
    return fabric_load(cluster, pattern, {.members = members, .tiers = 1, .flows = flows})
        .slowdown();
  };
  cluster.fabric.planes = {.count = 4};
  // Of four planes a message has one, two to two receivers two; collectives have all.
  EXPECT_EQ(slower(Pattern::kSend, 1), 4);
  EXPECT_EQ(slower(Pattern::kAllToAll, 2), 2);
  EXPECT_EQ(slower(Pattern::kAllToAll, 56), 1);
  EXPECT_EQ(slower(Pattern::kRing, 1), 1);
  // One down: three quarters of a card for all that takes more than one.
  cluster.fabric.planes.down = 1;
  EXPECT_EQ(slower(Pattern::kSend, 1), 4);
  EXPECT_NEAR(slower(Pattern::kAllToAll, 56), 4.0 / 3, 1e-12);
  EXPECT_NEAR(slower(Pattern::kRing, 1), 4.0 / 3, 1e-12);
  cluster.fabric.planes.spray = true;
  EXPECT_NEAR(slower(Pattern::kSend, 1), 4.0 / 3, 1e-12);
  // Uplinks lose theirs of that plane too: leaves of 32 whose members all leave them.
  EXPECT_NEAR(
      fabric_load(cluster, Pattern::kRing, {.members = 2, .stride = 32, .tiers = 2}).slowdown(),
      4 * 4.0 / 3, 1e-12);
}

TEST(FabricLoad, PlacementsCountTheMessagesOfACard) {
  // Eight planes. GPUs with a card each: a stage's transfer is one message a card, with two GPUs a
  // card two. Of 16 GPUs on two nodes that exchange, each sends to eight over there.
  spec::Job job = test::make_job({.tp = 8, .pp = 2});
  job.cluster.fabric.planes.count = 8;
  EXPECT_EQ(pipeline_placement(job, 0, 1).ring_uplink, 8);
  job.cluster.node.nics = {{50e9, {0, 1}}, {50e9, {2, 3}}, {50e9, {4, 5}}, {50e9, {6, 7}}};
  EXPECT_EQ(pipeline_placement(job, 0, 1).ring_uplink, 4);
  // The embedding's gradients, summed between both ends, are a collective's.
  EXPECT_EQ(placement(job, GroupKind::kEmbedding, 0).ring_uplink, 1);
  // Keys and values to the next member of a ring: one message too.
  job = test::make_job({.tp = 8, .cp = 4});
  job.cluster.fabric.planes.count = 8;
  EXPECT_EQ(placement(job, GroupKind::kContext, 0).ring_uplink, 8);
  job.parallelism.cp_comm = spec::CpComm::kAllGather;
  EXPECT_EQ(placement(job, GroupKind::kContext, 0).ring_uplink, 1);
  job = test::make_job({.dp = 16, .ep = 16});
  EXPECT_EQ(group_on_fabric(job, placement(job, GroupKind::kExpert, 0)).flows, 8);
}

TEST(FabricLoad, PlacementsTakeTheFullestLinksShare) {
  // 64 nodes of eight in a torus: TP 8 leaves a ring of all nodes and none is held up; two stages
  // of two planes each send over one of six links what two nodes send.
  spec::Job job = test::make_job({.tp = 8, .dp = 64});
  job.cluster = torus();
  EXPECT_NEAR(placement(job, GroupKind::kData, 0).ring_uplink, 1, 1e-12);
  EXPECT_NEAR(placement(job, GroupKind::kData, 0).exchange_uplink, 6 * 32.0 / 63, 1e-12);
  job = test::make_job({.tp = 8, .pp = 2, .dp = 32});
  job.cluster = torus();
  EXPECT_NEAR(pipeline_placement(job, 0, 1).ring_uplink, 12, 1e-12);
  job.cluster.fabric.topology.hop_s = 1e-6;
  EXPECT_NEAR(pipeline_placement(job, 0, 1).ring_hop_s, 1e-6, 1e-15);
}

TEST(FabricLoad, WhatChangesItsRailCrossesTheNode) {
  // Eight rails. Experts of 16 GPUs on two nodes: one of eight receivers there is on the sender's
  // rail. Replicas of TP 8 stay on theirs; so do stages of whole nodes, not those of a node and a
  // half.
  spec::Job job = test::make_job({.dp = 16, .ep = 16});
  job.cluster.fabric.kind = FabricKind::kRailOnly;
  EXPECT_NEAR(placement(job, GroupKind::kExpert, 0).exchange_crosses_rails, 7.0 / 8, 1e-12);
  EXPECT_EQ(placement(job, GroupKind::kExpert, 0).ring_crosses_rails, 0);
  job = test::make_job({.tp = 8, .dp = 4});
  job.cluster.fabric.kind = FabricKind::kRailOnly;
  EXPECT_EQ(placement(job, GroupKind::kData, 0).exchange_crosses_rails, 0);
  for (const auto& [replicas, crosses] : {std::pair{4, 0.0}, {3, 1.0}}) {
    job = test::make_job({.tp = 4, .pp = 2, .dp = replicas});
    job.cluster.fabric.kind = FabricKind::kRailOnly;
    EXPECT_EQ(pipeline_placement(job, 0, 1).ring_crosses_rails, crosses);
  }
}

}  // namespace
}  // namespace ergometer::plan
