#include "campaign/replan.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "optimize/test_jobs.h"

namespace ergometer::campaign {
namespace {

TEST(BreakEven, IsWhereBothMakeAsManySteps) {
  // 4 x 3000 = 12,000 = 5 x (3000 - 600).
  EXPECT_DOUBLE_EQ(break_even_s(4, 5, 600).value_or(0), 3000);
  // What stands makes no steps: any stretch longer than the restart.
  EXPECT_DOUBLE_EQ(break_even_s(0, 5, 600).value_or(0), 600);
  EXPECT_FALSE(break_even_s(5, 5, 600).has_value());
  EXPECT_FALSE(break_even_s(5, 4, 600).has_value());
}

// An hour at 4 and one at 5 steps a second: 600 s at one more or less. A stretch of 100 s has no
// more to be off in; one at the same pace nothing.
TEST(Transients, LieBetweenThePacesAroundAChange) {
  EXPECT_DOUBLE_EQ(transient_steps({4, 5}, {3600, 3600}), 600);
  EXPECT_DOUBLE_EQ(transient_steps({4, 5, 4}, {3600, 100, 3600}), 100 + 600);
  EXPECT_DOUBLE_EQ(transient_steps({4, 4}, {3600, 3600}), 0);
}

/// Two layouts, three stretches of 1000 s: 1 and 2, 3 and 2, 1 and 2 steps a second.
TEST(BestSequence, WeighsEveryRestart) {
  const std::vector<std::vector<double>> rates = {{1, 2}, {3, 2}, {1, 2}};
  const std::vector<double> seconds(3, 1000);
  // Free: 2000 + 3000 + 2000. At 100 s each: 2000 + 2700 + 1800 = 6500 > 3 x 2000.
  EXPECT_EQ(best_sequence(rates, seconds, 0), (std::vector<size_t>{1, 0, 1}));
  EXPECT_EQ(best_sequence(rates, seconds, 100), (std::vector<size_t>{1, 0, 1}));
  // At 300 s: 2000 + 2100 + 1400 = 5500 < 6000.
  EXPECT_EQ(best_sequence(rates, seconds, 300), (std::vector<size_t>{1, 1, 1}));
  // None fits into a stretch.
  EXPECT_EQ(best_sequence(rates, seconds, 1000), (std::vector<size_t>{1, 1, 1}));
}

Replan played(const std::string& change, double length_s, double restart_s) {
  const spec::Settings job = spec::test::settings_of(optimize::small_job());
  const auto changes =
      base::value_of(parse_changes("changes:\n  - {" + change + "}\n", "changes.yaml"));
  ReplanAsk ask;
  ask.stretches = base::value_of(stretches_of(job, changes, length_s, "changes.yaml"));
  ask.restart_s = restart_s;
  ask.options.knobs = {optimize::Knob::kLayers};
  ask.options.judges = 4;
  return base::value_of(replan(job, ask));
}

/// A node that loses most of its air for two of three hours.
const std::string kPump =
    "at: 1 h, until: 3 h, override: [node1.blocked_inlet=60%, node1.inlet=45C]";

TEST(Replan, AddsUpItsStretches) {
  const Replan replan = played(kPump, 14'400, 600);
  ASSERT_EQ(replan.stretches.size(), 3U);
  const ReplanStretch& hot = replan.stretches[1];
  EXPECT_GT(hot.unchanged.step_s, 1.05 * replan.stretches[0].unchanged.step_s);
  EXPECT_EQ(replan.stretches[2].unchanged.step_s, replan.stretches[0].unchanged.step_s);
  ASSERT_EQ(hot.does, ReplanDoes::kRestarts);
  EXPECT_LT(*hot.break_even_s, 7200);
  const ReplanTotal &as_it_is = replan.totals[0], &planned = replan.totals[1],
                    &ahead = replan.totals[2];
  double steps = 0, joules = 0;
  for (const ReplanStretch& it : replan.stretches) {
    steps += it.seconds() / it.unchanged.step_s;
    joules += it.seconds() * it.unchanged.cluster_w;
  }
  EXPECT_DOUBLE_EQ(as_it_is.steps, steps);
  EXPECT_DOUBLE_EQ(as_it_is.energy_j, joules);
  EXPECT_EQ(as_it_is.tokens, as_it_is.steps * 8 * 4096);
  EXPECT_GT(planned.steps, as_it_is.steps);
  EXPECT_GE(ahead.steps, planned.steps);
}

/// A restart has all the time to pay in which conditions stay.
TEST(Replan, IsNotCutByWhatAltersNothing) {
  const Replan whole = played(kPump, 14'400, 600);
  const Replan cut =
      played(kPump + "}\n  - {at: 2 h, until: 2.5 h, override: [node1.inlet=45C]", 14'400, 600);
  EXPECT_EQ(cut.stretches.size(), 3U);
  EXPECT_EQ(cut.totals[1].steps, whole.totals[1].steps);
}

}  // namespace
}  // namespace ergometer::campaign
