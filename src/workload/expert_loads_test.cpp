#include "workload/expert_loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "workload/test_models.h"

namespace ergometer::workload {
namespace {

using spec::RoutingKind;

/// Two layers with 8 experts, top-2, on 4 ranks.
spec::Job routed_job(RoutingKind kind, double amount) {
  spec::Job job;
  job.model.experts.count = 8;
  job.model.experts.top_k = 2;
  job.model.layers = {{}, {.moe = true}, {.moe = true}};
  job.parallelism.ep = 4;
  job.training.moe_routing.kind = kind;
  job.training.moe_routing.amount = amount;
  return job;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The example of expert_loads.cpp.
TEST(ExpertLoads, ZipfTakesTheInverseOfTheRank) {
  std::vector<double> shares = expert_shares(routed_job(RoutingKind::kZipf, 1), 0);
  std::sort(shares.begin(), shares.end(), std::greater<>());
  const double all = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5 + 1.0 / 6 + 1.0 / 7 + 1.0 / 8;
  for (size_t n = 0; n < shares.size(); ++n)
    EXPECT_NEAR(shares[n], 1 / (static_cast<double>(n + 1) * all), 1e-12);
}

TEST(ExpertLoads, NoExpertTakesMoreThanEveryToken) {
  std::vector<double> shares = expert_shares(routed_job(RoutingKind::kZipf, 2), 0);
  std::sort(shares.begin(), shares.end(), std::greater<>());
  EXPECT_NEAR(shares[0], 0.5, 1e-9);
  EXPECT_NEAR(sum(shares), 1, 1e-12);
  // The others keep their proportions: 1/4 to 1/9.
  EXPECT_NEAR(shares[1] / shares[2], 9.0 / 4, 1e-9);
}

// Two choices and one expert wanted at all: the other choice goes anywhere.
TEST(ExpertLoads, ChoicesThatNobodyWantsAreShared) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.training.moe_routing.counts = {{9, 0, 0, 0, 0, 0, 0, 0}};
  const std::vector<double> shares = expert_shares(job, 0);
  EXPECT_NEAR(shares[0], 0.5, 1e-9);
  EXPECT_NEAR(shares[7], 0.5 / 7, 1e-9);
}

// A rank holds 2 of 8 experts. Twice their share: 0.5 of all choices, a load of 2; the others 2/3.
TEST(ExpertLoads, AHotRankTakesItsShareTimes) {
  const ExpertLoads hot = expert_loads(routed_job(RoutingKind::kHotRank, 2));
  EXPECT_TRUE(hot.by_layer[0].empty());
  for (const size_t layer : {1u, 2u})
    for (const size_t rank : {0u, 1u, 2u, 3u})
      EXPECT_NEAR(hot.by_layer[layer][rank], rank == 0 ? 2 : 2.0 / 3, 1e-12);
  EXPECT_NEAR(hot.most, 2, 1e-12);
  EXPECT_EQ(hot.fullest(0), 1);   // a dense layer
  EXPECT_EQ(hot.fullest(-1), 1);  // no layer
  const ExpertLoads rotating = expert_loads(routed_job(RoutingKind::kRotatingRank, 2));
  EXPECT_NEAR(rotating.by_layer[1][0], 2, 1e-12);
  EXPECT_NEAR(rotating.by_layer[2][1], 2, 1e-12);
  const ExpertLoads bursts = expert_loads(routed_job(RoutingKind::kBursts, 2));
  EXPECT_NEAR(bursts.by_layer[1][0], 2, 1e-12);
  EXPECT_NEAR(bursts.by_layer[2][0], 1, 1e-12);
  EXPECT_NEAR(bursts.mean_fullest(), 1.5, 1e-12);
}

// 10, 8, 7, 6 | 5, 4, 3, 1, most wanted first: ranks of two take 10 + 1, 8 + 3, 7 + 4, 6 + 5.
TEST(ExpertLoads, ByLoadRanksAreAsEvenAsCanBe) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.top_k = 1;
  job.training.moe_routing.counts = {{10, 8, 7, 6, 5, 4, 3, 1}};
  EXPECT_NEAR(expert_loads(job).by_layer[1][0], 4 * 18.0 / 44, 1e-12);
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  EXPECT_TRUE(expert_loads(job).even());
}

// The example of expert_loads.cpp. No rank holds an expert twice: 20 has four copies, not five.
TEST(ExpertLoads, CopiesDivideWhatTheirExpertTakes) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.top_k = 1;
  job.training.moe_routing.counts = {{20, 4, 4, 4, 4, 4, 2, 2}};
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  EXPECT_NEAR(expert_loads(job).most, 4 * 22.0 / 44, 1e-12);
  EXPECT_TRUE(copy_sums(job, 4).sent.empty());
  job.training.moe_redundant_experts = 4;
  EXPECT_EQ(job.expert_slots(), 3);
  EXPECT_TRUE(expert_loads(job).even());
  const std::vector<double> none(4), sums = {1.25, 1.25, 0.75, 0.75};
  EXPECT_EQ(copy_sums(job, 4).sent, (std::vector<std::vector<double>>{none, sums, sums}));
}

// As above: on one node nothing leaves it; on two, of the four copies' 3/4 half; where each rank
// has a node for itself, all.
TEST(ExpertLoads, ARingOfCopiesLeavesANodeOnce) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.top_k = 1;
  job.training.moe_routing.counts = {{20, 4, 4, 4, 4, 4, 2, 2}};
  job.training.moe_redundant_experts = 4;
  const auto leaving = [&](int64_t together) { return copy_sums(job, together).leaving[1]; };
  EXPECT_EQ(leaving(4), std::vector<double>(4));
  EXPECT_EQ(leaving(2), std::vector<double>(4, 0.375));
  EXPECT_EQ(leaving(1), (std::vector<double>{1.25, 1.25, 0.75, 0.75}));
  EXPECT_EQ(copy_sums(job, 2).leaving[0], std::vector<double>(4));  // a dense layer
}

// 6 10 6 1 1 1 with two copies, the example of expert_loads.cpp.
TEST(ExpertLoads, CopiesOfAnExpertShareANode) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.count = 6;
  job.model.experts.top_k = 1;
  job.training.moe_routing.counts = {{6, 10, 6, 1, 1, 1}};
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  job.training.moe_redundant_experts = 2;
  const auto leaving = [&] { return copy_sums(job, 2).leaving[1]; };
  EXPECT_EQ(leaving(), (std::vector<double>{0, 1, 0.5, 0.5}));
  job.cluster.domain_gpus = 2;
  EXPECT_EQ(leaving(), (std::vector<double>{0.5, 0, 0, 0.5}));
  const std::vector<double> loads = expert_loads(job).by_layer[1];
  EXPECT_NEAR(loads[0], 4 * 8.0 / 25, 1e-12);
  EXPECT_NEAR(loads[1], 4 * 6.0 / 25, 1e-12);
}

// The example of expert_loads.cpp: two groups, 20 4 4 4 and 4 4 2 2, on two of four ranks each.
TEST(ExpertLoads, GroupsStayTogetherWhereTokensTravelOnce) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.top_k = 1;
  job.model.experts.groups = 2;
  job.training.moe_routing.counts = {{20, 4, 4, 4, 4, 4, 2, 2}};
  EXPECT_FALSE(scatters_groups(job));
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  EXPECT_TRUE(scatters_groups(job));
  EXPECT_NEAR(expert_loads(job).most, 4 * 22.0 / 44, 1e-12);
  job.training.moe_dispatcher = spec::MoeDispatcher::kDeepEp;
  job.cluster.domain_gpus = 4;
  EXPECT_TRUE(scatters_groups(job));  // nothing leaves the one node
  job.cluster.domain_gpus = 1;
  EXPECT_FALSE(scatters_groups(job));
  const auto expect_loads = [&](const std::vector<double>& wanted) {
    const std::vector<double> loads = expert_loads(job).by_layer[1];
    ASSERT_EQ(loads.size(), wanted.size());
    for (size_t rank = 0; rank < wanted.size(); ++rank)
      EXPECT_NEAR(loads[rank], static_cast<double>(wanted.size()) * wanted[rank] / 44, 1e-12);
  };
  expect_loads({24, 8, 6, 6});
  // A copy of the first two of each group: 10 4 2 twice; 2 2 2 twice. Both of one in its ranks.
  job.training.moe_redundant_experts = 4;
  expect_loads({16, 16, 6, 6});
  EXPECT_EQ(copy_sums(job, 2).leaving[1], std::vector<double>(4));
  job.training.moe_redundant_experts = 8;  // all twice
  EXPECT_FALSE(scatters_groups(job));
  expect_loads({16, 16, 6, 6});
  job.training.moe_redundant_experts = 16;  // three of each are more than two ranks
  EXPECT_TRUE(scatters_groups(job));
  job.training.moe_redundant_experts = 0;
  // Groups of 24, 8, 8 and 4, two a rank.
  job.model.experts.groups = 4;
  job.parallelism.ep = 2;
  expect_loads({28, 16});
  job.parallelism.ep = 8;
  job.model.experts.groups = 3;
  EXPECT_TRUE(scatters_groups(job));
}

// 3 experts and a copy: a slot on each of 4 ranks, of which two hold half of what the others do.
// 9 experts and 3 copies on 4 ranks: of six whole experts and six halves two ranks have two and a
// half, and two a whole and two halves.
TEST(ExpertLoads, RanksThatDivideNoExpertsAreUnevenUnderEvenRouting) {
  spec::Job job = routed_job(RoutingKind::kEven, 0);
  job.model.experts = {.count = 3, .top_k = 1};
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  job.training.moe_redundant_experts = 1;
  EXPECT_EQ(job.expert_slots(), 1);
  EXPECT_FALSE(job.loads_experts_evenly());
  const std::vector<double> loads = expert_loads(job).by_layer[1];
  const std::vector<double> taken = {4.0 / 3, 4.0 / 3, 2.0 / 3, 2.0 / 3};
  for (const size_t rank : {0u, 1u, 2u, 3u}) EXPECT_NEAR(loads[rank], taken[rank], 1e-12);
  job.model.experts.count = 9;
  job.training.moe_redundant_experts = 3;
  EXPECT_NEAR(expert_loads(job).most, 4 * 2.5 / 9, 1e-12);
  job.training.moe_capacity_factor = 1;
  job.training.moe_pad_to_capacity = true;
  EXPECT_TRUE(expert_loads(job).even());
}

// 10 8 7 6 are halved: 5 5 5 4 4 4 3.5 3.5 3 3 3 1, the second 4 not to the rank of the first.
// Ranks take 5 + 4 + 1, 5 + 3.5 + 3, 5 + 3.5 + 3 and 4 + 4 + 3; all three of the second are copied.
TEST(ExpertLoads, CopiesOfAnExpertLieApart) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.top_k = 1;
  job.training.moe_routing.counts = {{10, 8, 7, 6, 5, 4, 3, 1}};
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  job.training.moe_redundant_experts = 4;
  const std::vector<double> loads = expert_loads(job).by_layer[1];
  const std::vector<double> taken = {10, 11.5, 11.5, 11};
  for (const size_t rank : {0u, 1u, 2u, 3u}) EXPECT_NEAR(loads[rank], 4 * taken[rank] / 44, 1e-12);
  EXPECT_NEAR(std::ranges::max(copy_sums(job, 4).sent[1]), 1.5, 1e-12);
}

// 9 5 4 (the first) are halved: 4.5 4.5 4 2.5 2.5 2 2 2 2 2, of which the last two are copies. One
// rank takes 4.5 + 4 + 2.5 and the other 4.5 + 2.5 + 2 + 2, which are as much but for the last bit:
// where the third 2 goes there too, the copies find the first alone with room. One of them changes
// places with a 2, and each rank sums the halves of three experts.
TEST(ExpertLoads, NoRankHoldsAnExpertTwiceThoughNoOtherHasRoom) {
  spec::Job job = routed_job(RoutingKind::kCounts, 0);
  job.model.experts.count = 7;
  job.parallelism.ep = 2;
  job.training.moe_routing.counts = {{2, 9, 5, 2, 2, 4, 4}};
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  job.training.moe_redundant_experts = 3;
  ASSERT_EQ(job.expert_slots(), 5);
  const CopySums sums = copy_sums(job, 1);
  EXPECT_EQ(sums.sent[1], std::vector<double>(2, 1.5));
  EXPECT_EQ(sums.leaving[1], sums.sent[1]);
  const std::vector<double> loads = expert_loads(job).by_layer[1];
  EXPECT_NEAR(loads[0] + loads[1], 2, 1e-12);
  EXPECT_NEAR(loads[0], 2 * 15.0 / 28, 1e-12);
}

TEST(ExpertLoads, NothingIsUnevenWhereNobodyWaits) {
  spec::Job alone = routed_job(RoutingKind::kZipf, 1);
  alone.parallelism.ep = 1;
  EXPECT_TRUE(expert_loads(alone).even());
  EXPECT_TRUE(expert_loads(routed_job(RoutingKind::kEven, 0)).even());
  EXPECT_TRUE(expert_loads(routed_job(RoutingKind::kZipf, 0)).even());
}

// Room for 1.25 of an even share; one expert is asked for 2 of them, the others for 6/7 each.
TEST(ExpertLoads, ACapacityDropsWhatIsBeyondIt) {
  spec::Job job = routed_job(RoutingKind::kHotExpert, 2);
  EXPECT_EQ(dropped_share(job), 0);
  job.training.moe_capacity_factor = 1.25;
  job.training.moe_pad_to_capacity = true;
  EXPECT_TRUE(expert_loads(job).even());
  EXPECT_NEAR(dropped_share(job), (2 - 1.25) / 8, 1e-12);
  job.training.moe_routing = {};
  EXPECT_EQ(dropped_share(job), 0);
  job.training.moe_capacity_factor = 0.75;
  EXPECT_EQ(dropped_share(job), 0.25);
  EXPECT_EQ(expert_rows(job, 100), 80);  // 9.4 of each of 8 experts' 12.5, and up
  EXPECT_EQ(kept_share(job, 100), 0.8);
  EXPECT_EQ(kept_share(job, 1), 1);  // a row an expert is the least
}

// As above without padding: of 8 shares one is 2 / 8 and kept to 1.25 / 8, the others are 6/7 of an
// eighth; 7.25 / 8 is left. Of four ranks the fullest holds (1.25 + 6/7) / 7.25 of it, over a
// quarter.
TEST(ExpertLoads, ACapacityAloneLeavesTheRestUneven) {
  spec::Job job = routed_job(RoutingKind::kHotExpert, 2);
  job.training.moe_capacity_factor = 1.25;
  EXPECT_NEAR(expert_loads(job).most, 4 * (1.25 + 6.0 / 7) / 7.25, 1e-12);
  EXPECT_NEAR(expert_rows(job, 100), 100 * 7.25 / 8, 1e-9);
  job.training.moe_routing = {};
  EXPECT_TRUE(expert_loads(job).even());
  EXPECT_EQ(expert_rows(job, 100), 100);
  job.training.moe_capacity_factor = 0.75;
  EXPECT_EQ(expert_rows(job, 100), 80);
}

// Of eight shares one expert is asked for 3, the others for 5/7 each; room is for 1.25. With a copy
// it takes 2.5 of the 3, with two all; what is left is 1 a rank on average.
TEST(ExpertLoads, ACopyHasTheCapacityOfAnExpert) {
  spec::Job job = routed_job(RoutingKind::kHotExpert, 3);
  job.training.moe_capacity_factor = 1.25;
  EXPECT_NEAR(dropped_share(job), (3 - 1.25) / 8, 1e-12);
  job.training.moe_placement = spec::ExpertPlacement::kByLoad;
  job.training.moe_redundant_experts = 1;
  EXPECT_NEAR(dropped_share(job), (3 - 2.5) / 8, 1e-12);
  job.training.moe_redundant_experts = 4;
  EXPECT_EQ(dropped_share(job), 0);
  EXPECT_NEAR(sum(expert_loads(job).by_layer[1]), 4, 1e-12);
  // Padded, copies are filled up as experts are: 12 of 1.25 x 100 / 8 rows, and up.
  job.training.moe_pad_to_capacity = true;
  EXPECT_EQ(expert_rows(job, 100), 12 * 16);
  // Even routing under a capacity of half a share: whole experts drop half, those of two copies
  // nothing.
  job.training.moe_routing = {};
  job.training.moe_pad_to_capacity = false;
  job.training.moe_capacity_factor = 0.5;
  EXPECT_NEAR(dropped_share(job), 4 * 0.5 / 8, 1e-12);
  EXPECT_NEAR(kept_share(job, 800), 0.75, 1e-12);
  // A row an expert is the least: of 8 rows none is dropped.
  EXPECT_EQ(kept_share(job, 8), 1);
  EXPECT_NEAR(expert_loads(job).most, 1, 1e-12);
}

TEST(ExpertLoads, LoadsAreOneOnAverage) {
  for (const RoutingKind kind : {RoutingKind::kZipf, RoutingKind::kHotExpert, RoutingKind::kHotRank,
                                 RoutingKind::kRotatingRank}) {
    const ExpertLoads loads = expert_loads(routed_job(kind, 1.7));
    EXPECT_NEAR(sum(loads.by_layer[1]), 4, 1e-9);
    EXPECT_NEAR(sum(loads.by_layer[2]), 4, 1e-9);
  }
}

}  // namespace
}  // namespace ergometer::workload
