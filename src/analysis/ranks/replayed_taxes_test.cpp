#include "analysis/ranks/replayed_taxes.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"
#include "base/random.h"

namespace ergometer::analysis {
namespace {

ReplayedTaxes taxes_of(const std::vector<run::RankTrace>& ranks,
                       const std::vector<std::vector<int64_t>>& handed_over_ns = {}) {
  const MatchedCollectives collectives = match_collectives(ranks);
  return replayed_taxes(event_graph(ranks, collectives, align_clocks(ranks, collectives),
                                    label_groups(ranks), handed_over_ns));
}

void expect_shares_add_up(const ReplayedTaxes& taxes) {
  EXPECT_NEAR(
      taxes.bulk_synchrony.share_ns + taxes.memory_round_trips.share_ns + taxes.launch.share_ns,
      taxes.gap_ns(), 1e-9 * taxes.span_ns);
  double sites = 0;
  for (const auto& [name, ns] : taxes.sites) sites += ns;
  EXPECT_NEAR(sites, taxes.collective_waiting.share_ns, 1e-9 * taxes.span_ns);
  for (const ReplayedTax& tax :
       {taxes.collective_waiting, taxes.host_sync, taxes.memory_round_trips, taxes.launch}) {
    EXPECT_GE(tax.share_ns, 0);
    EXPECT_LE(tax.without_ns, taxes.span_ns);
  }
}

//   rank 0   [gemm 0..100)  [all-reduce 100 ........ 500)
//   rank 1   [gemm 0........400)           [400 ... 500)
// The exchange takes 100 behind the last arrival. Rank 0 alone is done at 200, rank 1 at 500: 350
// on average, which the wait costs 150 of 500. With the wait both end at 500: all of it is the
// collective's.
TEST(ReplayedTaxes, OfWaitingIsTheMeanRanks) {
  const std::vector<run::RankTrace> ranks = {
      TestTrace(0).kernel(0, 100, 20).collective(100, 500, 1).trace,
      TestTrace(1).kernel(0, 400, 20).collective(400, 500, 1).trace};
  const ReplayedTaxes taxes = taxes_of(ranks);
  EXPECT_DOUBLE_EQ(taxes.span_ns, 500);
  EXPECT_DOUBLE_EQ(taxes.untaxed_ns, 350);
  EXPECT_DOUBLE_EQ(taxes.collective_waiting.share_ns, 150);
  EXPECT_DOUBLE_EQ(taxes.launch.share_ns, 0);
  ASSERT_FALSE(taxes.sites.empty());
  expect_shares_add_up(taxes);
}

//   GPU     [10..20)        [50..60)   [100..110)
//   launch  at 0            at 45      at 90
//   wait           [15..25)
// Without launches the three follow each other: 30 from the first start on, instead of 100. The CPU
// waited from 15 to 20: without that launches come at 0, 40 and 85, the last kernel ends 5 sooner.
// Without both: 30. Shapley values: of the wait (5 + 0) / 2, of launches (70 + 65) / 2.
TEST(ReplayedTaxes, OfLaunchesAndWaitsOfTheHostAddUp) {
  TestTrace t(0);
  t.kernel(10, 20).launched(0).kernel(50, 60).launched(45).kernel(100, 110).launched(90);
  t.trace.waits.push_back({.start_ns = 15, .duration_ns = 10, .thread = 1});
  const ReplayedTaxes taxes = taxes_of({t.trace});
  EXPECT_DOUBLE_EQ(taxes.span_ns, 100);
  EXPECT_DOUBLE_EQ(taxes.host_sync.without_ns, 95);
  EXPECT_DOUBLE_EQ(taxes.launch.without_ns, 30);
  EXPECT_DOUBLE_EQ(taxes.untaxed_ns, 30);
  EXPECT_DOUBLE_EQ(taxes.host_sync.share_ns, 2.5);
  EXPECT_DOUBLE_EQ(taxes.launch.share_ns, 67.5);
  expect_shares_add_up(taxes);
}

// Three kernels one behind the other, the first two hand 10 over that each takes 4 for.
TEST(ReplayedTaxes, OfRoundTripsAreWhatKernelsAreShorter) {
  const ReplayedTaxes taxes =
      taxes_of({TestTrace(0).kernel(0, 10).kernel(10, 20).kernel(20, 40).trace}, {{4, 4, 0}});
  EXPECT_DOUBLE_EQ(taxes.span_ns, 40);
  EXPECT_DOUBLE_EQ(taxes.memory_round_trips.share_ns, 8);
  EXPECT_DOUBLE_EQ(taxes.untaxed_ns, 32);
  expect_shares_add_up(taxes);
}

// A side stream's kernel that was launched behind the first one's end stays behind it, although the
// trace does not say that it waited.
TEST(ReplayedTaxes, OrderBetweenStreamsStaysWithoutLaunches) {
  TestTrace t(0);
  t.kernel(0, 100).launched(-5).kernel(200, 250, 9).launched(190);
  EXPECT_DOUBLE_EQ(taxes_of({t.trace}).untaxed_ns, 150);
}

//   GPU     [A 0 .. 100)           [B 115 .. 200)
//   launch  at -5             at 110
//   wait             [95..101)
// A hands 50 over. The CPU waited from 95 to 100: however soon A ends, B is launched at 105 at the
// earliest and ends at 195; so it does without the wait, and without both. Without launches B
// follows A: 185, and 135 where A hands nothing over. Shapley values: of the wait 5 / 3, of the
// round trips 5 / 3 + 50 / 6 + 50 / 3, of launches 15 / 3 + 10 / 6 + 60 / 6 + 60 / 3.
TEST(ReplayedTaxes, NothingIsLaunchedBeforeTheCpuCameToWait) {
  TestTrace t(0);
  t.kernel(0, 100).launched(-5).kernel(115, 200).launched(110);
  t.trace.waits.push_back({.start_ns = 95, .duration_ns = 6, .thread = 1});
  const ReplayedTaxes taxes = taxes_of({t.trace}, {{50, 0}});
  EXPECT_DOUBLE_EQ(taxes.span_ns, 200);
  EXPECT_DOUBLE_EQ(taxes.host_sync.without_ns, 195);
  EXPECT_DOUBLE_EQ(taxes.memory_round_trips.without_ns, 195);
  EXPECT_DOUBLE_EQ(taxes.untaxed_ns, 135);
  EXPECT_NEAR(taxes.host_sync.share_ns, 5.0 / 3, 1e-9);
  EXPECT_NEAR(taxes.memory_round_trips.share_ns, 80.0 / 3, 1e-9);
  EXPECT_NEAR(taxes.launch.share_ns, 110.0 / 3, 1e-9);
  expect_shares_add_up(taxes);
}

/// A random job of two ranks: kernels, exchanges and waits of the CPU, launched late or early.
std::vector<run::RankTrace> random_taxed_ranks(uint64_t seed) {
  const base::Random random(seed, 0, "taxes");
  std::vector<run::RankTrace> ranks;
  uint64_t n = 0;
  std::vector<TestTrace> traces = {TestTrace(0), TestTrace(1)};
  std::vector<int64_t> now = {0, 0};
  for (int i = 0; i < 20; ++i) {
    for (size_t rank = 0; rank < 2; ++rank) {
      const auto gap = static_cast<int64_t>(random.uniform(n++, 0, 40));
      const auto length = static_cast<int64_t>(random.uniform(n++, 20, 300));
      const int64_t start = now[rank] + gap;
      traces[rank].kernel(start, start + length, 20).launched(start - gap / 2 - 3);
      if (random.uniform(n++, 0, 1) < 0.2)
        traces[rank].trace.waits.push_back(
            {.start_ns = start + 1, .duration_ns = length + 4, .thread = 1});
      now[rank] = start + length + 6;
    }
    const int64_t end = std::max(now[0], now[1]) + 50;
    for (size_t rank = 0; rank < 2; ++rank) {
      traces[rank].collective(now[rank], end, i).launched(now[rank] - 1);
      now[rank] = end;
    }
  }
  for (TestTrace& trace : traces) ranks.push_back(std::move(trace.trace));
  return ranks;
}

TEST(ReplayedTaxes, AddUpInRandomTraces) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<run::RankTrace> ranks = random_taxed_ranks(seed);
    std::vector<std::vector<int64_t>> handed_over;
    for (const run::RankTrace& rank : ranks) {
      std::vector<int64_t>& ns = handed_over.emplace_back(rank.events.size(), 0);
      for (size_t i = 0; i < ns.size(); i += 4) ns[i] = rank.events[i].duration_ns / 3;
    }
    const ReplayedTaxes taxes = taxes_of(ranks, handed_over);
    EXPECT_LE(taxes.untaxed_ns, taxes.span_ns);
    expect_shares_add_up(taxes);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace ergometer::analysis
