#include "validation/rows/outcome.h"

#include <gtest/gtest.h>

#include "validation/rows/test_row.h"
#include "validation/score.h"

namespace ergometer::validation {
namespace {

MeasuredRun row_of(const std::string& outcome, const std::string& notes) {
  return test::row("id,model,gpu,gpus,outcome,notes", "a,m,H100,8," + outcome + "," + notes);
}

TEST(Outcome, IsReadAsTheColumnSaysIt) {
  EXPECT_EQ(outcome_of(row_of("OOM", "")), Outcome::kOutOfMemory);
  EXPECT_EQ(outcome_of(row_of("fits", "")), Outcome::kFits);
  EXPECT_EQ(outcome_of(row_of("", "")), std::nullopt);
  EXPECT_EQ(outcome_of(test::row("id,model,gpu,gpus", "a,m,H100,8")), std::nullopt);
}

TEST(Outcome, ANearMissHasATwinThatFits) {
  const std::string twin = "the same layout fits at micro batch 1/2";
  EXPECT_TRUE(is_near_miss(row_of("OOM", twin)));
  EXPECT_FALSE(is_near_miss(row_of("fits", twin)));
  EXPECT_FALSE(is_near_miss(row_of("OOM", "no smaller micro batch succeeded")));
}

// Three that ran out of memory, the first two near: called 5, 50 and 95 %. Two that ran: 5 and
// 95 %. Recognised: two of three, both near ones; a false alarm: one of two.
TEST(Outcome, CountsWhatIsRecognisedAndFalseAlarms) {
  OutcomeScore score;
  const MeasuredRun near = row_of("OOM", "the same layout fits at micro batch 1");
  score.add(near, Outcome::kOutOfMemory, 0.05);
  score.add(near, Outcome::kOutOfMemory, 0.5);
  score.add(row_of("OOM", ""), Outcome::kOutOfMemory, 0.95);
  score.add(row_of("fits", ""), Outcome::kFits, 0.05);
  score.add(row_of("fits", ""), Outcome::kFits, 0.95);
  EXPECT_EQ(score.out_of_memory.rows, 3);
  EXPECT_NEAR(score.out_of_memory.warned_pct(), 200.0 / 3, 1e-9);
  EXPECT_EQ(score.near_misses.rows, 2);
  EXPECT_EQ(score.near_misses.at_risk, 1);
  EXPECT_EQ(score.near_misses.warned_pct(), 100);
  EXPECT_EQ(score.ran.rows, 2);
  EXPECT_EQ(score.ran.does_not_fit_pct(), 50);
  EXPECT_EQ(Called{}.warned_pct(), 0);
}

// A row that ran out of memory has one line, and is no job that did fit; one with a step time ran.
TEST(Outcome, IsALineOfTheScore) {
  const auto runs = parse_measured_runs(
      "id,gpu,gpus,model,outcome\none,H100,8,m,OOM\ntwo,H100,8,m,\n", "runs.csv");
  ASSERT_TRUE(runs.has_value());
  std::vector<Prediction> predictions(2);
  predictions[0].measured.outcome = Outcome::kOutOfMemory;
  predictions[0].memory.fit_probability = 0.2;
  predictions[0].memory.fits = false;
  predictions[1].measured.step_time_s = 1;
  predictions[1].performance.step_time_s = 1;
  const Score s = score(*runs, predictions, {});
  ASSERT_EQ(s.rows.size(), 2u);
  EXPECT_EQ(s.rows[0].quantity, "fits");
  EXPECT_EQ(s.rows[0].measured, 0);
  EXPECT_EQ(s.rows[0].predicted, 0.2);
  EXPECT_FALSE(s.rows[0].error_pct.has_value());
  EXPECT_EQ(s.accepted, 2);
  EXPECT_EQ(s.fits_known, 1);
  EXPECT_EQ(s.outcomes.out_of_memory.at_risk, 1);
  EXPECT_EQ(s.outcomes.ran.rows, 1);
}

}  // namespace
}  // namespace ergometer::validation
