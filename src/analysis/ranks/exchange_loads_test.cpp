#include "analysis/ranks/exchange_loads.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

/// A rank that gives so many elements and gets so many, and then the other way round.
run::RankTrace exchanging(int64_t number, int64_t gives, int64_t gets) {
  TestTrace t(number);
  t.collective(0, 10, 1, "all_to_allv", "g", 2, "EXPERT_MODEL_PARALLEL_GROUP")
      .collective(50, 60, 2, "all_to_allv", "g", 2, "EXPERT_MODEL_PARALLEL_GROUP");
  t.trace.collectives[0].in_elements = t.trace.collectives[1].out_elements = gives;
  t.trace.collectives[0].out_elements = t.trace.collectives[1].in_elements = gets;
  return t.trace;
}

ExchangeLoads loads_of(const std::vector<run::RankTrace>& ranks) {
  return exchange_loads(ranks, match_collectives(ranks));
}

// Of 200 elements one rank's experts get 150, the other's 50: 1.5 and 0.5 times as many as evenly,
// there and back.
TEST(ExchangeLoads, AreWhatExpertsGetInSharesOfTheMean) {
  const ExchangeLoads loads = loads_of({exchanging(0, 100, 150), exchanging(1, 100, 50)});
  EXPECT_EQ(loads.exchanges, 2);
  EXPECT_DOUBLE_EQ(loads.mean_fullest, 1.5);
  EXPECT_DOUBLE_EQ(loads.most, 1.5);
  ASSERT_EQ(loads.ranks.size(), 2u);
  EXPECT_DOUBLE_EQ(loads.ranks[0].load, 1.5);
  EXPECT_DOUBLE_EQ(loads.ranks[1].load, 0.5);
}

TEST(ExchangeLoads, AreEvenOrUnknown) {
  EXPECT_TRUE(loads_of({exchanging(0, 100, 100), exchanging(1, 100, 100)}).even());
  EXPECT_EQ(loads_of({exchanging(0, 100, 150), exchanging(1, 100, -1)}).exchanges, 0);
  EXPECT_EQ(loads_of({exchanging(0, 100, 150)}).exchanges, 0);
}

}  // namespace
}  // namespace ergometer::analysis
