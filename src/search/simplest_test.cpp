#include "search/simplest.h"

#include "search/space/random_candidates.h"
#include "search/space/test_space.h"

namespace ergometer::search {
namespace {

run::Performance performance(double compute_s, double idle_s) {
  run::Performance p;
  p.breakdown_s.compute = compute_s;
  p.breakdown_s.idle = idle_s;
  p.step_time_s = compute_s + idle_s;
  p.step_time_s_low = 0.8 * p.step_time_s;
  p.step_time_s_high = 1.2 * p.step_time_s;
  return p;
}

TEST(Simplest, ADifferenceIsAsUncertainAsItsParts) {
  const run::Performance best = performance(9, 1);
  EXPECT_TRUE(cannot_tell(best, performance(9.04, 1)));     // less than half a per cent
  EXPECT_FALSE(cannot_tell(best, performance(9.06, 1)));    // all of it more compute
  EXPECT_TRUE(cannot_tell(best, performance(8.6, 1.5)));    // one part for another
  EXPECT_FALSE(cannot_tell(best, performance(7.0, 3.31)));  // never beyond 2 %
}

Space space_of_two_gpus() {
  return test::space_of({{"model", "gpt3-1.3b"},
                         {"cluster", "hgx-h100"},
                         {"gpus", "2"},
                         {"gbs", "8"},
                         {"seq_length", "1024"},
                         {"cp", "1"}});
}

TEST(Simplest, TheFirstIsNoneTheLessAmongTheBest) {
  const Space space = space_of_two_gpus();
  SearchOptions options;
  options.top = 5;
  const auto fastest = search(space, options);
  options.simplest = true;
  const auto simplest = search(space, options);
  ASSERT_TRUE(fastest && simplest);
  const Played &fast = fastest->best.front(), &simple = simplest->best.front();
  EXPECT_GE(simplest->tied, 1);
  EXPECT_LE(features(space, simple.found.candidate), features(space, fast.found.candidate));
  EXPECT_LE(simple.run.performance.step_time_s, 1.03 * fast.run.performance.step_time_s);
  options.threads = 2;
  const auto again = search(space, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->best.front().found.number, simple.found.number);
}

TEST(Simplest, OneThatSurelyFitsIsFirstUnlessItCostsTooMuch) {
  const Space space = space_of_two_gpus();
  Played risky;
  risky.found.candidate.layout = space.layouts().front();
  risky.found.gpus = 2;
  risky.run.performance = performance(9, 1);
  risky.run.memory.fit_probability = 0.51;
  Played sure = risky;
  sure.run.memory.fit_probability = 0.97;
  const auto first_probability = [&](double more) {
    sure.run.performance = performance(9 * (1 + more), 1 + more);
    std::vector<Played> all = {risky, sure};
    put_simplest_first(space, Objective::kTime, all);
    return all.front().run.memory.fit_probability;
  };
  EXPECT_EQ(first_probability(0.049), 0.97);
  EXPECT_EQ(first_probability(0.051), 0.51);
  sure.run.performance = performance(9.1, 1);
  std::vector<Played> unlike = {risky, sure};
  put_sure_first(Objective::kTime, unlike);
  EXPECT_EQ(unlike.front().run.memory.fit_probability, 0.97);
  risky.run.memory.fit_probability = 0.91;  // no risk worth anything
  EXPECT_EQ(first_probability(0.049), 0.91);
}

TEST(Simplest, EqualOnesAreOneLine) {
  const Space space = space_of_two_gpus();
  LegalityCheck legal(space);
  Played played;
  played.found.candidate.layout = space.layouts().front();
  played.found.gpus = 2;
  played.run.performance = performance(9, 1);
  std::vector<Played> all(3, played);
  all[0].found.candidate.overlap.pipeline = true;
  all[2].run.performance = performance(9, 2);
  EXPECT_EQ(put_simplest_first(space, Objective::kTime, all), 1);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].found.candidate.overlap.pipeline);
  EXPECT_EQ(all[0].alike, 1);
  EXPECT_EQ(all[1].alike, 0);
}

}  // namespace
}  // namespace ergometer::search
