#include "engine/power/run_phases.h"

#include <gtest/gtest.h>

namespace ergometer::engine {
namespace {

// A step of 2 s and 100 W, a batch of 1 s and 80 W, pauses at 30 W.
std::vector<run::RunPhase> phases(const spec::RunPhases& asked) {
  return run_phases(asked, {2, 100}, {1, 80}, 30);
}

TEST(RunPhases, StepsAloneAreTraining) {
  const auto found = phases({.steps = 50});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].seconds, 100);
  EXPECT_EQ(run::mean_w(found), 100);
}

TEST(RunPhases, EveryEvaluationOfGivenSteps) {
  // Behind steps 20, 30, 40 and 50: 4 evaluations of 3 batches.
  const auto found =
      phases({.steps = 50, .eval_every = 10, .eval_from = 20, .eval_batches = 3, .pause_s = 8});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].seconds, 100);
  EXPECT_EQ(found[1].name, "evaluation");
  EXPECT_EQ(found[1].seconds, 12);
  EXPECT_EQ(found[2].seconds, 8);
  EXPECT_NEAR(run::mean_w(found), (100 * 100 + 12 * 80 + 8 * 30) / 120.0, 1e-12);
}

TEST(RunPhases, LengthHoldsWhatItHasRoomFor) {
  // 120 s less 8 s of pauses are the 50 steps and 4 evaluations of above.
  const spec::RunPhases asked{
      .length_s = 120, .eval_every = 10, .eval_from = 20, .eval_batches = 3, .pause_s = 8};
  const auto found = phases(asked);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0].seconds, 100, 1e-12);
  EXPECT_NEAR(found[1].seconds, 12, 1e-12);
}

// Behind steps 20, 30, 40 and 50: 4 evaluations, a pause of 1.5 s each.
TEST(RunPhases, PausesOfEvaluations) {
  const auto found = phases({.steps = 50,
                             .eval_every = 10,
                             .eval_from = 20,
                             .eval_batches = 3,
                             .eval_pause_s = 1.5,
                             .pause_s = 8});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].seconds, 12);
  EXPECT_EQ(found[2].name, "pauses");
  EXPECT_EQ(found[2].seconds, 14);
}

TEST(RunPhases, RunTooShortForAnEvaluation) {
  EXPECT_EQ(phases({.steps = 9, .eval_every = 10, .eval_from = 10, .eval_batches = 3}).size(), 1u);
  EXPECT_EQ(phases({.length_s = 15, .eval_every = 10, .eval_from = 10, .eval_batches = 3}).size(),
            1u);
  const auto cut = phases({.length_s = 21, .eval_every = 10, .eval_from = 10, .eval_batches = 3});
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[1].seconds, 1);  // it ends within the first evaluation
}

}  // namespace
}  // namespace ergometer::engine
