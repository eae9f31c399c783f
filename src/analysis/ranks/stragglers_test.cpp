#include "analysis/ranks/stragglers.h"

#include <gtest/gtest.h>

#include "analysis/ranks/group_table.h"
#include "analysis/trace/test_traces.h"
#include "analysis/work/collective_kind.h"

namespace ergometer::analysis {
namespace {

std::vector<GroupSkew> study(const std::vector<run::RankTrace>& ranks,
                             const run::DeviceLog& log = {}) {
  const MatchedCollectives collectives = match_collectives(ranks);
  return find_stragglers(ranks, collectives, align_clocks(ranks, collectives), label_groups(ranks),
                         log);
}

/// Four ranks that compute and reduce 20 times; `compute` and `idle` by rank and round.
template <class Compute, class Idle>
std::vector<run::RankTrace> four(Compute compute, Idle idle, int64_t transfer = 100 * kUs) {
  std::vector<TestTrace> ranks;
  for (int64_t rank = 0; rank < 4; ++rank) ranks.emplace_back(rank);
  int64_t at = 0;
  for (int64_t round = 0; round < 20; ++round) {
    int64_t last = 0;
    for (int64_t rank = 0; rank < 4; ++rank)
      last = std::max(last, at + idle(rank, round) + compute(rank, round));
    for (int64_t rank = 0; rank < 4; ++rank) {
      const int64_t start = at + idle(rank, round), end = start + compute(rank, round);
      ranks[static_cast<size_t>(rank)]
          .kernel(start, end)
          .collective(end, last + transfer, round, "allreduce", "g", 4);
    }
    at = last + transfer;
  }
  std::vector<run::RankTrace> traces;
  for (TestTrace& rank : ranks) traces.push_back(rank.trace);
  return traces;
}

const auto kNoDelay = [](int64_t, int64_t) -> int64_t { return 0; };
const auto kEqual = [](int64_t, int64_t) -> int64_t { return 10 * kMs; };

TEST(Stragglers, OneThatComputesLonger) {
  const auto skews = study(four(
      [](int64_t rank, int64_t) -> int64_t { return rank == 2 ? 13 * kMs : 10 * kMs; }, kNoDelay));
  ASSERT_EQ(skews.size(), 1u);
  const GroupSkew& skew = skews[0];
  EXPECT_EQ(skew.verdict, GroupVerdict::kStraggler);
  EXPECT_EQ(skew.rank, 2);
  EXPECT_TRUE(skew.persistent);
  EXPECT_EQ(skew.last_share, 1);
  // Three ranks wait 3 ms, 20 times.
  EXPECT_EQ(skew.waiting_ns, 3 * 3 * kMs * 20);
  EXPECT_EQ(skew.caused_waiting_ns, skew.waiting_ns);
  EXPECT_EQ(skew.transfer_ns, 20 * 100 * kUs);
  EXPECT_EQ(skew.cause, LateCause::kCompute);
  // The first round has no collective before it.
  EXPECT_EQ(skew.more_compute_ns, 19 * 3 * kMs);
  EXPECT_EQ(skew.compared, 19);
  EXPECT_EQ(skew.parallelism.name, "tp");
  EXPECT_TRUE(skew.parallelism.stated);
}

// From the eleventh round on 15 ms where the others take 10: two thirds make it their equal there.
TEST(Stragglers, OneThatComputesLongerFromATimeOn) {
  const auto skews = study(
      four([](int64_t rank,
              int64_t round) -> int64_t { return rank == 2 && round >= 10 ? 15 * kMs : 10 * kMs; },
           kNoDelay));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].rank, 2);
  EXPECT_FALSE(skews[0].persistent);
  ASSERT_EQ(skews[0].paces.size(), 21u);
  EXPECT_EQ(skews[0].paces[9].share, 1);
  EXPECT_DOUBLE_EQ(skews[0].paces[10].share, 10.0 / 15);
  // Ten rounds, each behind 100 us: the tenth collective begins nine transfers after its 100 ms.
  EXPECT_EQ(skews[0].paces[10].from_ns, 100 * kMs + 9 * 100 * kUs);
  EXPECT_EQ(skews[0].paces[20].share, 1);
}

/// Without numbers, the slow rank's file ends in the middle: its 15 calls are the others' first; of
/// one that lost a call in between nothing is known.
TEST(Stragglers, OneWhoseFileIsCutOff) {
  auto ranks = four(
      [](int64_t rank, int64_t) -> int64_t { return rank == 2 ? 13 * kMs : 10 * kMs; }, kNoDelay);
  for (run::RankTrace& rank : ranks)
    for (run::Collective& collective : rank.collectives) collective.sequence = -1;
  ranks[2].events.resize(30);
  EXPECT_TRUE(match_collectives(ranks).instances.empty());
  ranks[2].truncated = true;
  EXPECT_EQ(match_collectives(ranks).instances.size(), 15U);
  EXPECT_EQ(match_collectives(ranks).unmatched, 3 * 5);
  const auto skews = study(ranks);
  ASSERT_EQ(skews.size(), 1U);
  EXPECT_EQ(skews[0].verdict, GroupVerdict::kStraggler);
  EXPECT_EQ(skews[0].rank, 2);
  EXPECT_EQ(skews[0].waiting_ns, 3 * 3 * kMs * 15);
  ranks[2].events.erase(ranks[2].events.begin() + 10, ranks[2].events.begin() + 12);
  EXPECT_TRUE(match_collectives(ranks).instances.empty());
}

TEST(Stragglers, OneThatStartsLater) {
  const auto skews =
      study(four(kEqual, [](int64_t rank, int64_t) -> int64_t { return rank == 0 ? 2 * kMs : 0; }));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].rank, 0);
  EXPECT_EQ(skews[0].cause, LateCause::kLaunch);
  EXPECT_EQ(skews[0].more_idle_ns, 19 * 2 * kMs);
  // 2 ms more after every collective that it is behind.
  ASSERT_EQ(skews[0].leads.size(), 19u);
  EXPECT_EQ(skews[0].leads[4].sooner_ns, 5 * 2 * kMs);
  EXPECT_EQ(skews[0].leads[0].from_ns, 12 * kMs + 100 * kUs);
}

// Behind the first collective a copy of 500 us: its CPU is late from there on, not before.
TEST(Stragglers, OneThatStartsLaterBehindACopy) {
  auto ranks =
      four(kEqual, [](int64_t rank, int64_t) -> int64_t { return rank == 0 ? 2 * kMs : 0; });
  run::GpuEvent copy = ranks[0].events.front();
  copy.start_ns = 12 * kMs + 100 * kUs;
  copy.duration_ns = 500 * kUs;
  copy.kind = run::GpuClass::kMemory;
  ranks[0].events.push_back(copy);
  const auto skews = study(ranks);
  ASSERT_EQ(skews.size(), 1u);
  ASSERT_EQ(skews[0].leads.size(), 19u);
  EXPECT_EQ(skews[0].leads[0].from_ns, 12 * kMs + 600 * kUs);
  EXPECT_EQ(skews[0].leads[0].sooner_ns, 1500 * kUs);
}

TEST(Stragglers, ThatMoveAreNotPinnedOnOne) {
  const auto skews =
      study(four([](int64_t rank,
                    int64_t round) -> int64_t { return rank == round % 4 ? 13 * kMs : 10 * kMs; },
                 kNoDelay));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].verdict, GroupVerdict::kMovingStraggler);
  EXPECT_EQ(skews[0].rank, -1);
}

TEST(Stragglers, ThatAppearLateAreNotPersistent) {
  const auto skews = study(
      four([](int64_t rank,
              int64_t round) -> int64_t { return rank == 1 && round >= 8 ? 13 * kMs : 10 * kMs; },
           kNoDelay));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].rank, 1);
  EXPECT_TRUE(skews[0].persistent);  // of those that ranks join apart, in either half
  const auto never = study(
      four([](int64_t rank,
              int64_t round) -> int64_t { return rank == 1 && round >= 11 ? 13 * kMs : 10 * kMs; },
           kNoDelay));
  EXPECT_FALSE(never[0].persistent);
}

// Rank 3 is late three times by much, the others often by little: it is the one, not throughout.
TEST(Stragglers, FewButLong) {
  const auto skews = study(four(kEqual, [](int64_t rank, int64_t round) -> int64_t {
    return rank == 3 ? (round % 8 == 7 ? 100 * kMs : 0) : rank == round % 3 ? 1 * kMs : 0;
  }));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].rank, 3);
  EXPECT_FALSE(skews[0].persistent);
  EXPECT_DOUBLE_EQ(skews[0].last_share, 0.1);
}

// Everyone is there, and every second transfer takes 5 times as long.
TEST(Stragglers, ASlowTransferIsCongestion) {
  std::vector<TestTrace> ranks = {TestTrace(0), TestTrace(1)};
  int64_t at = 0;
  for (int64_t round = 0; round < 20; ++round) {
    const int64_t transfer = round % 2 == 0 ? 1 * kMs : 5 * kMs;
    for (TestTrace& rank : ranks)
      rank.collective(at, at + transfer, round, "allreduce", "g", 2, "mesh_dp", 1'000'000);
    at += transfer;
  }
  const auto skews = study({ranks[0].trace, ranks[1].trace});
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].verdict, GroupVerdict::kCongested);
  EXPECT_DOUBLE_EQ(skews[0].slowdown, 3);  // (10 x 1 + 10 x 5) / (20 x 1)
  // 4 MB a reduction on 2 ranks: 4 MB on the bus in 1 ms.
  EXPECT_DOUBLE_EQ(skews[0].best_bus_gb_per_s, 4);
  EXPECT_DOUBLE_EQ(skews[0].mean_bus_gb_per_s, 20 * 4e6 / 60e6);
}

TEST(Stragglers, BalancedRanksAreNone) {
  const auto skews = study(four(kEqual, kNoDelay));
  ASSERT_EQ(skews.size(), 1u);
  EXPECT_EQ(skews[0].verdict, GroupVerdict::kBalanced);
  EXPECT_EQ(skews[0].skewed, 0);
}

// Ranks 0 and 1 reduce in "a", 1 and 2 in "b". Rank 0 is slow; rank 1 is late in "b" for its sake.
TEST(Stragglers, LatenessIsTracedToTheGroupItComesFrom) {
  TestTrace r0(0), r1(1), r2(2);
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t t = i * 20 * kMs;
    r0.kernel(t, t + 8 * kMs).collective(t + 8 * kMs, t + 8 * kMs + 50 * kUs, i, "allreduce", "a");
    r1.kernel(t, t + 2 * kMs).collective(t + 2 * kMs, t + 8 * kMs + 50 * kUs, i, "allreduce", "a");
    r1.kernel(t + 9 * kMs, t + 10 * kMs)
        .collective(t + 10 * kMs, t + 11 * kMs, i, "allreduce", "b", 2, "mesh_dp");
    r2.kernel(t + 1 * kMs, t + 2 * kMs)
        .collective(t + 2 * kMs, t + 11 * kMs, i, "allreduce", "b", 2, "mesh_dp");
  }
  const auto skews = study({r0.trace, r1.trace, r2.trace});
  ASSERT_EQ(skews.size(), 2u);
  for (const GroupSkew& skew : skews) {
    EXPECT_EQ(skew.verdict, GroupVerdict::kStraggler);
    EXPECT_EQ(skew.rank, skew.group == "a" ? 0 : 1);
    EXPECT_EQ(skew.cause, skew.group == "a" ? LateCause::kCompute : LateCause::kInherited)
        << skew.group;
  }
}

run::Device gpu(int64_t rank, double mhz, double reasons) {
  run::Device device;
  device.rank = rank;
  for (const auto& [metric, value] : {std::pair(run::Metric::kSmClock, mhz),
                                      {run::Metric::kGpuTemperature, mhz < 1700 ? 86.0 : 64.0},
                                      {run::Metric::kEventReasons, reasons}}) {
    run::Series series;
    series.metric = metric;
    for (int64_t i = 0; i <= 10; ++i) series.samples.push_back({i * 100 * kMs, value});
    device.series.push_back(series);
  }
  return device;
}

TEST(Stragglers, AreShownWithTheirGpu) {
  run::DeviceLog log;
  for (int64_t rank = 0; rank < 4; ++rank)
    log.devices.push_back(gpu(rank, rank == 2 ? 1500 : 1980, rank == 2 ? 0x20 : 0));
  const auto skews =
      study(four([](int64_t rank, int64_t) -> int64_t { return rank == 2 ? 13 * kMs : 10 * kMs; },
                 kNoDelay),
            log);
  ASSERT_TRUE(skews[0].condition);
  EXPECT_DOUBLE_EQ(*skews[0].condition->sm_clock_mhz, 1500);
  EXPECT_DOUBLE_EQ(*skews[0].condition->others_clock_mhz, 1980);
  EXPECT_DOUBLE_EQ(*skews[0].condition->gpu_c, 86);
  EXPECT_DOUBLE_EQ(*skews[0].condition->throttled_fraction, 1);
  EXPECT_EQ(skews[0].condition->reason, "sw_thermal_slowdown");
}

TEST(Parallelism, IsStatedByDescriptions) {
  for (const auto& [description, name] : {std::pair("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
                                          {"DATA_PARALLEL_GROUP_WITH_CP", "dp"},
                                          {"INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", "dp"},
                                          {"CONTEXT_PARALLEL_GROUP", "cp"},
                                          {"TENSOR_AND_CONTEXT_PARALLEL_GROUP", "tp-cp"},
                                          {"PIPELINE_MODEL_PARALLEL_GROUP", "pp"},
                                          {"EMBEDDING_GROUP", "pp"},
                                          {"EXPERT_MODEL_PARALLEL_GROUP", "ep"},
                                          {"EXPERT_TENSOR_PARALLEL_GROUP", "etp"},
                                          {"EXPERT_DATA_PARALLEL_GROUP", "edp"},
                                          {"mesh_tp", "tp"},
                                          {"mesh_dp_shard_cp", "dp"},
                                          {"mesh_dp_shard_mod_ep", "edp"},
                                          {"mesh_ep", "ep"},
                                          {"mesh_fsdp", "dp"},
                                          {"dp_replicate", "dp"},
                                          {"pp", "pp"},
                                          {"expert_parallel_group", "ep"},
                                          {"default_pg", "world"},
                                          {"mesh_default", ""},
                                          {"undefined", ""}})
    EXPECT_EQ(parallelism_of(description), name) << description;
}

TEST(Parallelism, IsInferredFromWhatAGroupDoes) {
  const auto label = [](const char* name, int64_t size, std::vector<int64_t> ranks) {
    std::vector<run::RankTrace> traces;
    for (const int64_t rank : ranks) {
      traces.push_back(TestTrace(rank).collective(0, 1, 0, name, "g", size, "undefined").trace);
      traces.back().world_size = 16;
    }
    const Parallelism found = label_groups(traces).at({"g", "undefined"});
    EXPECT_FALSE(found.stated);
    return found.name;
  };
  EXPECT_EQ(label("send", 4, {0, 4}), "pp");
  EXPECT_EQ(label("all_to_allv", 8, {0, 1}), "ep");
  EXPECT_EQ(label("allreduce", 16, {0}), "dp");
  EXPECT_EQ(label("allreduce", 4, {0, 4, 8, 12}), "dp");
  EXPECT_EQ(label("allreduce", 2, {0, 1}), "tp");
  EXPECT_EQ(label("allreduce", 4, {0}), "");
}

// One rank: tp 0..10 beside compute 5..20, dp 15..30. Hidden 5 of tp, 5 of dp.
TEST(Groups, HiddenAndExposed) {
  const std::vector<run::RankTrace> ranks = {
      TestTrace(0)
          .collective(0, 10, 0)
          .kernel(5, 20)
          .collective(15, 30, 1, "allreduce", "d", 4, "mesh_dp")
          .trace};
  const GroupTables tables =
      group_tables(ranks, match_collectives(ranks), align_clocks(ranks, {}), label_groups(ranks));
  ASSERT_EQ(tables.parallelisms.size(), 2u);
  EXPECT_EQ(tables.parallelisms[0].parallelism.name, "dp");
  EXPECT_EQ(tables.parallelisms[0].total_ns, 15);
  EXPECT_EQ(tables.parallelisms[0].hidden_ns, 5);
  EXPECT_EQ(tables.parallelisms[0].exposed_ns, 10);
  EXPECT_EQ(tables.parallelisms[1].hidden_ns, 5);
  EXPECT_EQ(tables.parallelisms[1].exposed_ns, 5);
  EXPECT_DOUBLE_EQ(tables.parallelisms[0].bytes, 4000);
  EXPECT_DOUBLE_EQ(tables.parallelisms[0].bus_bytes, 4000 * 1.5);
}

// Two tensor parallel groups of which both carry one name: nothing of it can be matched.
TEST(Matching, GroupsOfOneNameAreNotMixed) {
  std::vector<run::RankTrace> ranks;
  for (int64_t rank = 0; rank < 4; ++rank)
    ranks.push_back(TestTrace(rank).collective(0, 10, 0).trace);
  const MatchedCollectives found = match_collectives(ranks);
  EXPECT_TRUE(found.instances.empty());
  EXPECT_EQ(found.unmatched, 4);
}

}  // namespace
}  // namespace ergometer::analysis
