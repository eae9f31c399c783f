#include "analysis/ranks/slow_ranks.h"

#include <gtest/gtest.h>

#include "analysis/ranks/group_table.h"
#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

SlowRanks slow_ranks(const std::vector<run::RankTrace>& ranks) {
  const MatchedCollectives collectives = match_collectives(ranks);
  return find_slow_ranks(
      ranks, exchange_loads(ranks, collectives),
      event_graph(ranks, collectives, align_clocks(ranks, collectives), label_groups(ranks)), {});
}

/// Ten kernels a rank, one behind the other; `duration_ms` by rank and round.
template <class Duration>
std::vector<run::RankTrace> apart(int64_t count, Duration duration_ms) {
  std::vector<run::RankTrace> traces;
  for (int64_t rank = 0; rank < count; ++rank) {
    TestTrace one(rank);
    int64_t at = 0;
    for (int64_t round = 0; round < 10; ++round) {
      const int64_t end = at + duration_ms(rank, round) * kMs;
      one.kernel(at, end);
      at = end;
    }
    traces.push_back(one.trace);
  }
  return traces;
}

TEST(SlowRanks, WithoutAnyCollective) {
  const SlowRanks found =
      slow_ranks(apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 15 : 10; }));
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_EQ(found.ranks[0].rank, 2);
  EXPECT_DOUBLE_EQ(found.ranks[0].times, 1.5);
  // It ends after 150 ms; with its peers' pace, after 100 ms as they do.
  EXPECT_NEAR(static_cast<double>(found.saved_if_equal_ns), 50.0 * kMs, 10);
}

/// One of them made faster would save nothing: the other holds the reduction up as long.
TEST(SlowRanks, TwoOfFourEquallySlow) {
  std::vector<run::RankTrace> traces;
  for (int64_t rank = 0; rank < 4; ++rank) {
    TestTrace one(rank);
    for (int64_t round = 0; round < 10; ++round) {
      const int64_t at = round * 14 * kMs, end = at + (rank % 2 == 1 ? 13 : 10) * kMs;
      one.kernel(at, end).collective(end, at + 14 * kMs, round, "allreduce", "g", 4);
    }
    traces.push_back(one.trace);
  }
  const SlowRanks found = slow_ranks(traces);
  ASSERT_EQ(found.ranks.size(), 2u);
  EXPECT_EQ(found.ranks[0].rank, 1);
  EXPECT_EQ(found.ranks[1].rank, 3);
  EXPECT_DOUBLE_EQ(found.ranks[0].times, 1.3);
  // 3 ms of each of ten rounds.
  EXPECT_NEAR(static_cast<double>(found.saved_if_equal_ns), 30.0 * kMs, 100);
}

TEST(SlowRanks, OtherWorkOrHalfTheTimeOnly) {
  EXPECT_TRUE(
      slow_ranks(apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 21 : 20; })).ranks.empty())
      << "1.05 times is not more";
  EXPECT_TRUE(slow_ranks(apart(3, [](int64_t rank,
                                     int64_t round) { return rank == 2 && round < 5 ? 15 : 10; }))
                  .ranks.empty())
      << "not in the second half";
  auto traces = apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 15 : 10; });
  traces[2].events.pop_back();
  EXPECT_TRUE(slow_ranks(traces).ranks.empty()) << "nine kernels are other work than ten";
  traces = apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 15 : 10; });
  traces[1].rank = 2;
  EXPECT_TRUE(slow_ranks(traces).ranks.empty()) << "two files of one rank";
}

/// Rank 2 takes 16 and 11 ms by turns where others take 10: 35 % more in both halves, and every
/// call 2.5 ms off 13.5, which is more than a third of the 3.5 that it takes longer. 14 and 13 ms
/// are half a millisecond off.
TEST(SlowRanks, SequencesThatVaryAreNoSlowness) {
  const auto by_turns = [](int64_t even_ms, int64_t odd_ms) {
    return slow_ranks(apart(3, [=](int64_t rank, int64_t round) {
      return rank != 2 ? 10 : round % 2 == 0 ? even_ms : odd_ms;
    }));
  };
  EXPECT_TRUE(by_turns(16, 11).ranks.empty());
  EXPECT_EQ(by_turns(14, 13).ranks.size(), 1u);
}

/// All ranks have a long sequence at once: rank 2 takes 1.3 times as long for it as they do.
TEST(SlowRanks, SequencesThatVaryForAllAlike) {
  const SlowRanks found = slow_ranks(apart(3, [](int64_t rank, int64_t round) {
    return (rank == 2 ? 13 : 10) * (round % 3 == 0 ? 4 : 1);
  }));
  ASSERT_EQ(found.ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(found.ranks[0].times, 1.3);
}

TEST(SlowRanks, KernelsThatRanThreeTimesTellNothing) {
  auto traces = apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 15 : 10; });
  for (run::RankTrace& trace : traces) trace.events.resize(3);
  EXPECT_TRUE(slow_ranks(traces).ranks.empty());
}

/// A rank with twice the tokens of the mean takes 1.5 times as long.
TEST(SlowRanks, TokensOfExpertsAreNoSlowness) {
  const auto traces = apart(3, [](int64_t rank, int64_t) { return rank == 2 ? 15 : 10; });
  const MatchedCollectives none = match_collectives(traces);
  const EventGraph graph =
      event_graph(traces, none, align_clocks(traces, none), label_groups(traces));
  const auto found = [&](double load) {
    return find_slow_ranks(traces, {.ranks = {{2, load}}}, graph, {}).ranks.size();
  };
  EXPECT_EQ(found(2.0), 0u);
  EXPECT_EQ(found(1.1), 1u);
}

}  // namespace
}  // namespace ergometer::analysis
