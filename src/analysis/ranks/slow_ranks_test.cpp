#include "analysis/ranks/slow_ranks.h"

#include <gtest/gtest.h>

#include "analysis/ranks/group_table.h"
#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

SlowRanks slow_ranks(const std::vector<run::RankTrace>& ranks) {
  const MatchedCollectives collectives = match_collectives(ranks);
  return find_slow_ranks(ranks, event_graph(ranks, collectives, align_clocks(ranks, collectives),
                                            label_groups(ranks)));
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

}  // namespace
}  // namespace ergometer::analysis
