#include "plan/placement.h"

#include <gtest/gtest.h>

#include "plan/placement_cache.h"
#include "plan/test_job.h"
#include "spec/settings/settings.h"

namespace ergometer::plan {
namespace {

using test::make_job;
using workload::GroupKind;

void expect_group(const spec::Job& job, GroupKind kind, int64_t size, int64_t stride) {
  const RankGroup group = rank_group(job, kind);
  EXPECT_EQ(group.size, size) << static_cast<int>(kind);
  EXPECT_EQ(group.stride, stride) << static_cast<int>(kind);
}

TEST(RankGroup, TensorIsFastestThenContextThenData) {
  const spec::Job job = make_job({.tp = 4, .cp = 2, .pp = 3, .dp = 8});
  expect_group(job, GroupKind::kTensor, 4, 1);
  expect_group(job, GroupKind::kContext, 2, 4);
  expect_group(job, GroupKind::kData, 16, 4);
  expect_group(job, GroupKind::kShard, 16, 4);
  expect_group(job, GroupKind::kReplica, 1, 64);
  expect_group(job, GroupKind::kPipeline, 2, 64);
  expect_group(job, GroupKind::kEmbedding, 2, 128);
  expect_group(job, GroupKind::kWorld, 192, 1);
}

TEST(RankGroup, ExpertsCutTheStageAgain) {
  spec::Job job = make_job({.tp = 4, .cp = 2, .dp = 8, .ep = 8});  // expert tensor parallelism 1
  expect_group(job, GroupKind::kExpert, 8, 1);
  expect_group(job, GroupKind::kExpertTensor, 1, 1);
  expect_group(job, GroupKind::kExpertData, 8, 8);
  job.parallelism.etp = 2;
  expect_group(job, GroupKind::kExpert, 8, 2);
  expect_group(job, GroupKind::kExpertTensor, 2, 1);
  expect_group(job, GroupKind::kExpertData, 4, 16);
  job.parallelism.etp = 0;  // as tensor parallelism: 4
  expect_group(job, GroupKind::kExpert, 8, 4);
  expect_group(job, GroupKind::kExpertData, 2, 32);
}

TEST(RankGroup, HybridShardingSplitsTheReplicas) {
  spec::Job job = make_job({.tp = 2, .dp = 16});
  job.parallelism.fsdp = true;
  job.parallelism.fsdp_shard_size = 4;
  expect_group(job, GroupKind::kShard, 4, 2);
  expect_group(job, GroupKind::kReplica, 4, 8);
  // A copy's eight ranks: each holds an eighth of every expert, or with two groups of experts (of
  // as many tensor-parallel ranks) a quarter of its own.
  expect_group(job, GroupKind::kExpertData, 4, 2);
  job.parallelism.ep = 2;
  expect_group(job, GroupKind::kExpertData, 2, 4);
}

void expect_placement(const GroupPlacement& got, int64_t nodes, int64_t ranks_per_node,
                      double gb_per_s, int64_t tiers) {
  EXPECT_EQ(got.nodes, nodes);
  EXPECT_EQ(got.ranks_per_node, ranks_per_node);
  EXPECT_DOUBLE_EQ(got.nic_bytes_per_s, gb_per_s * 1e9);
  EXPECT_EQ(got.tiers, tiers);
}

TEST(Placement, TensorParallelismInsideANodeNeedsNoNetwork) {
  const spec::Job job = make_job({.tp = 8, .dp = 4});
  expect_placement(placement(job, GroupKind::kTensor, 0), 1, 8, 0, 0);
}

TEST(Placement, DataParallelRailsHaveACardEach) {
  // TP8: replica i of every node uses card i, alone.
  const spec::Job job = make_job({.tp = 8, .dp = 4});
  expect_placement(placement(job, GroupKind::kData, 0), 4, 1, 50, 1);
}

TEST(Placement, MoreLocalMembersOwnMoreCards) {
  // TP2 over four nodes: a data group has four members and four cards on every node; two groups
  // never share.
  const spec::Job job = make_job({.tp = 2, .dp = 16});
  expect_placement(placement(job, GroupKind::kData, 0), 4, 4, 200, 1);
}

TEST(Placement, GroupsThatShareCardsDivideThem) {
  // Four cards for eight GPUs, TP8: neighbours are in different groups and share a card, 25 GB/s
  // each.
  spec::Job job = make_job({.tp = 8, .dp = 4});
  job.cluster.node.nics = {{50e9, {0, 1}}, {50e9, {2, 3}}, {50e9, {4, 5}}, {50e9, {6, 7}}};
  expect_placement(placement(job, GroupKind::kData, 0), 4, 1, 25, 1);
  // TP2: a group owns one GPU of every card, as does the other one: four halves of 50.
  job = make_job({.tp = 2, .dp = 16});
  job.cluster.node.nics = {{50e9, {0, 1}}, {50e9, {2, 3}}, {50e9, {4, 5}}, {50e9, {6, 7}}};
  expect_placement(placement(job, GroupKind::kData, 0), 4, 4, 100, 1);
}

TEST(Placement, AGpuWithTwoCardsUsesBoth) {
  spec::Job job = make_job({.tp = 8, .dp = 2});
  job.cluster.node.nics.clear();
  for (int gpu = 0; gpu < 8; ++gpu) {
    job.cluster.node.nics.push_back({25e9, {gpu}});
    job.cluster.node.nics.push_back({25e9, {gpu}});
  }
  expect_placement(placement(job, GroupKind::kData, 0), 2, 1, 50, 1);
}

TEST(Placement, TheStudysNodesShareOneCardBetweenEightGpus) {
  // 32 GPUs, TP4 DP8: four data groups in every node pair share 12.5 GB/s.
  spec::Job job = make_job({.tp = 4, .dp = 8});
  job.cluster = test::study_cluster();
  expect_placement(placement(job, GroupKind::kData, 0), 4, 2, 12.5 / 4, 1);
  // DP32: one group owns the card alone.
  job = make_job({.dp = 32});
  job.cluster = test::study_cluster();
  expect_placement(placement(job, GroupKind::kData, 0), 4, 8, 12.5, 1);
  // TP4 PP4 DP2: a stage is a node; data parallelism stays inside, every pipeline pair crosses.
  job = make_job({.tp = 4, .pp = 4, .dp = 2});
  job.cluster = test::study_cluster();
  expect_placement(placement(job, GroupKind::kData, 1), 1, 2, 0, 0);
  expect_placement(pipeline_placement(job, 0, 1), 2, 1, 12.5 / 8, 1);
  expect_placement(pipeline_placement(job, 3, 0), 2, 1, 12.5 / 8, 1);
}

TEST(Placement, StagesThatMeetOnANodeShareItsCard) {
  // 24 GPUs, PP2 DP12: node 1 has half of either stage, and one card for both rings.
  spec::Job job = make_job({.pp = 2, .dp = 12});
  job.cluster = test::study_cluster();
  expect_placement(placement(job, GroupKind::kData, 0), 2, 4, 12.5 / 2, 1);
  expect_placement(placement(job, GroupKind::kData, 1), 2, 4, 12.5 / 2, 1);
  // TP2 PP3 DP6: two rings a stage. The third begins with a node, which no other stage has.
  job = make_job({.tp = 2, .pp = 3, .dp = 6});
  job.cluster = test::study_cluster();
  expect_placement(placement(job, GroupKind::kData, 0), 2, 2, 12.5 / 4, 1);
  expect_placement(placement(job, GroupKind::kData, 1), 2, 2, 12.5 / 4, 1);
  expect_placement(placement(job, GroupKind::kData, 2), 2, 2, 12.5 / 2, 1);
  PlacementCache cache(job);
  for (int64_t stage = 0; stage < 3; ++stage)
    EXPECT_DOUBLE_EQ(cache.of(GroupKind::kData, stage).nic_bytes_per_s,
                     placement(job, GroupKind::kData, stage).nic_bytes_per_s);
}

TEST(Placement, ExpertParallelismAcrossNodes) {
  // EP16 over two nodes owns all eight cards of each.
  spec::Job job = make_job({.dp = 32, .ep = 16});
  expect_placement(placement(job, GroupKind::kExpert, 0), 2, 8, 400, 1);
  // Expert replicas: 16 groups of two, one rank a node.
  expect_placement(placement(job, GroupKind::kExpertData, 0), 2, 1, 50, 1);
  // With expert tensor parallelism 2 two expert groups share the node, four cards each.
  job.parallelism.tp = 2;
  job.parallelism.dp = 16;
  job.parallelism.etp = 2;
  expect_placement(placement(job, GroupKind::kExpert, 0), 4, 4, 200, 1);
}

TEST(Placement, AJobTakesEqualPartsOfItsRacks) {
  // 256 of 72 a rack: four racks give 64 each, so that groups of 64 stay inside one.
  spec::Job job = make_job({.dp = 256, .ep = 64});
  job.cluster = test::rack_cluster();
  EXPECT_EQ(domain_segment(job), 64);
  expect_placement(placement(job, GroupKind::kExpert, 0), 1, 64, 0, 0);
  // Two whole racks; up to one rack; 292 = 4 x 73, whose equal parts are trays: racks are filled.
  job.gpus = 144;
  EXPECT_EQ(domain_segment(job), 72);
  job.gpus = 64;
  EXPECT_EQ(domain_segment(job), 72);
  job.gpus = 292;
  EXPECT_EQ(domain_segment(job), 72);
}

TEST(Placement, ARackOfSeventyTwoIsOneDomain) {
  // TP8 DP18 on two racks of 18 trays: data groups have nine members in each rack and own their
  // nine cards.
  spec::Job job = make_job({.tp = 8, .dp = 18});
  job.cluster = test::rack_cluster();
  expect_placement(placement(job, GroupKind::kTensor, 0), 1, 8, 0, 0);
  expect_placement(placement(job, GroupKind::kData, 0), 2, 9, 450, 1);
  // One rack: everything stays on NVLink.
  job = make_job({.tp = 8, .dp = 9});
  job.cluster = test::rack_cluster();
  expect_placement(placement(job, GroupKind::kData, 0), 1, 9, 0, 0);
  // Eight ranks a stage, nine stages a rack: stage 8 to 9 leaves the rack, 7 to 8 does not.
  job = make_job({.tp = 8, .pp = 18});
  job.cluster = test::rack_cluster();
  expect_placement(pipeline_placement(job, 7, 8), 1, 2, 0, 0);
  expect_placement(pipeline_placement(job, 8, 9), 2, 1, 50, 1);
}

TEST(Placement, ClimbsTheTiersItNeeds) {
  // 64 nodes, 32 under a leaf: replicas reach the spine, stage neighbours of 16 nodes only between
  // 31 and 32.
  const spec::Job job = make_job({.tp = 8, .dp = 64});
  EXPECT_EQ(placement(job, GroupKind::kData, 0).tiers, 2);
  const spec::Job pipelined = make_job({.tp = 8, .pp = 4, .dp = 16});
  EXPECT_EQ(placement(pipelined, GroupKind::kData, 0).tiers, 1);
  EXPECT_EQ(pipeline_placement(pipelined, 0, 1).tiers, 1);
  EXPECT_EQ(pipeline_placement(pipelined, 1, 2).tiers, 2);
  EXPECT_EQ(placement(pipelined, GroupKind::kWorld, 0).tiers, 2);
  EXPECT_EQ(placement(pipelined, GroupKind::kWorld, 0).nodes, 64);
  EXPECT_DOUBLE_EQ(placement(pipelined, GroupKind::kWorld, 0).nic_bytes_per_s, 400e9);
}

TEST(Placement, AStageThatCutsNodesIsAsSlowAsItsWorstGroup) {
  // Twelve ranks a stage, TP4 DP3: stage 0 holds node 0 and half of node 1. Every data group has
  // two members on node 0 and one on node 1, where it owns one card.
  const spec::Job job = make_job({.tp = 4, .pp = 2, .dp = 3});
  expect_placement(placement(job, GroupKind::kData, 0), 2, 1, 50, 1);
  expect_placement(placement(job, GroupKind::kTensor, 0), 1, 4, 0, 0);
  // TP6 stages cut nodes: ranks 0-5 lie in one node, 6-11 in two.
  const spec::Job six = make_job({.tp = 6, .pp = 4});
  EXPECT_EQ(placement(six, GroupKind::kTensor, 0).nodes, 1);
  EXPECT_EQ(placement(six, GroupKind::kTensor, 1).nodes, 2);
  EXPECT_DOUBLE_EQ(placement(six, GroupKind::kTensor, 1).nic_bytes_per_s, 100e9);
}

TEST(Placement, OversubscribedUplinksSlowWhatLeavesTheirSwitches) {
  // 64 nodes of 8, leaves of 32 with uplinks for a quarter of them. A ring over all data-parallel
  // ranks of a rail (tp 8) has one edge that leaves each leaf: 1 of 32 uses uplinks for 8, nothing
  // is lost. Members of two stages lie 32 nodes apart: every node sends, 4 times what the uplinks
  // take. An exchange over 64 nodes sends half away: 32 x 1/2 over uplinks for 8, half the rate.
  spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "llama3-8b"},
                                    {"cluster", "{extends: h100-superpod, oversubscription: 4}"},
                                    {"gpus", "512"},
                                    {"global_batch_size", "512"},
                                    {"tensor_model_parallel_size", "8"}})
    settings.set(name, value, {"test", ""});
  const auto wide = spec::resolve(settings);
  ASSERT_TRUE(wide) << wide.error().message;
  const GroupPlacement data = placement(*wide, workload::GroupKind::kData, 0);
  EXPECT_EQ(data.ring_uplink, 1);
  EXPECT_NEAR(data.exchange_uplink, 2, 1e-12);
  settings.set("pipeline_model_parallel_size", "2", {"test", ""});
  const auto deep = spec::resolve(settings);
  ASSERT_TRUE(deep) << deep.error().message;
  EXPECT_EQ(pipeline_placement(*deep, 0, 1).ring_uplink, 4);
  EXPECT_EQ(placement(*deep, workload::GroupKind::kData, 0).exchange_uplink, 1);
}

}  // namespace
}  // namespace ergometer::plan
