#include "validation/score.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "validation/rows/test_row.h"

namespace ergometer::validation {
namespace {

/// A row with a measured step time of 1 s, predicted `error_pct` too slow.
ScoredRow row(const std::string& group, double error_pct) {
  ScoredRow r;
  r.id = group;
  r.group = group;
  r.quantity = "step_time_s";
  r.measured = 1;
  r.predicted = 1 + error_pct / 100;
  r.low = *r.predicted;
  r.high = *r.predicted;
  r.error_pct = error_pct;
  return r;
}

std::vector<const ScoredRow*> pointers(const std::vector<ScoredRow>& rows) {
  std::vector<const ScoredRow*> list;
  for (const ScoredRow& r : rows) list.push_back(&r);
  return list;
}

// Group a: 2, 4, 6 %; group b: -20 %.
// By row: mean (2 + 4 + 6 + 20) / 4 = 8, median (4 + 6) / 2 = 5, bias (12 - 20) / 4 = -2.
// By group: mean (4 + 20) / 2 = 12, bias (4 - 20) / 2 = -8. Weights 1/6, 1/6, 1/6, 1/2: half lies
// at or below 6, so the median is (6 + 20) / 2 = 13.
TEST(ErrorStatistics, ByRowAndByGroup) {
  const std::vector<ScoredRow> rows = {row("a", 2), row("b", -20), row("a", 4), row("a", 6)};
  const ErrorStatistics e = error_statistics(pointers(rows));
  EXPECT_EQ(e.rows, 4);
  EXPECT_EQ(e.groups, 2);
  EXPECT_NEAR(e.mean_pct, 8, 1e-12);
  EXPECT_NEAR(e.median_pct, 5, 1e-12);
  EXPECT_NEAR(e.bias_pct, -2, 1e-12);
  EXPECT_NEAR(e.group_mean_pct, 12, 1e-12);
  EXPECT_NEAR(e.group_median_pct, 13, 1e-12);
  EXPECT_NEAR(e.group_bias_pct, -8, 1e-12);
  EXPECT_NEAR(e.within_15_fraction, 0.75, 1e-12);
}

TEST(ErrorStatistics, ASkippedRowCountsAndWeighsNothing) {
  std::vector<ScoredRow> rows = {row("a", 3), row("a", 5), row("b", 0)};
  rows[2].error_pct.reset();
  rows[2].skipped_reason = "no such GPU";
  const ErrorStatistics e = error_statistics(pointers(rows));
  EXPECT_EQ(e.rows, 2);
  EXPECT_EQ(e.skipped, 1);
  EXPECT_EQ(e.groups, 1);
  EXPECT_NEAR(e.group_mean_pct, 4, 1e-12);
}

TEST(ErrorStatistics, OfNothingIsZero) {
  const ErrorStatistics e = error_statistics({});
  EXPECT_EQ(e.rows, 0);
  EXPECT_EQ(e.mean_pct, 0);
}

// Measured 1 s lies inside 0.9 to 1.2 s and outside 1.05 to 1.2 s.
TEST(ErrorStatistics, CountsMeasurementsInsideTheInterval) {
  std::vector<ScoredRow> rows = {row("a", 5), row("a", 10)};
  rows[0].low = 0.9;
  rows[0].high = 1.2;
  rows[1].low = 1.05;
  rows[1].high = 1.2;
  EXPECT_NEAR(error_statistics(pointers(rows)).inside_interval_fraction, 0.5, 1e-12);
}

constexpr const char* kThree =
    "id,tier,group,gpu,gpus,model,source\n"
    "one,A,g1,H100,8,m,paper\n"
    "two,A,g1,H100,8,m,paper\n"
    "three,B,,X9,8,m,blog\n";

test::Case three_rows() {
  test::Case c{*parse_measured_runs(kThree, "runs.csv"), std::vector<Prediction>(3)};
  c.predictions[0].measured.step_time_s = 2;
  c.predictions[0].measured.memory_bytes = 10e9;
  c.predictions[0].performance.step_time_s = 2.2;
  c.predictions[0].memory_bytes = 9e9;
  c.predictions[1].measured.memory_bytes = 20e9;
  c.predictions[1].memory_bytes = 21e9;
  c.predictions[2].skipped_reason = "there is no GPU 'X9'";
  for (size_t i = 0; i < 3; ++i) c.predictions[i].traits = {{"gpu", i < 2 ? "H100" : "X9"}};
  return c;
}

TEST(Score, GivesEveryRowALineForEachQuantityInTheFilesOrder) {
  const test::Case c = three_rows();
  const Score s = score(c.runs, c.predictions, {"gpu"});
  ASSERT_EQ(s.rows.size(), 4u);
  EXPECT_EQ(s.rows[0].id + ' ' + s.rows[0].quantity, "one step_time_s");
  EXPECT_NEAR(*s.rows[0].error_pct, 10, 1e-9);
  EXPECT_EQ(s.rows[1].id + ' ' + s.rows[1].quantity, "one memory_bytes");
  EXPECT_NEAR(*s.rows[1].error_pct, -10, 1e-9);
  EXPECT_EQ(s.rows[2].id + ' ' + s.rows[2].quantity, "two memory_bytes");
  EXPECT_EQ(s.rows[3].skipped_reason, "there is no GPU 'X9'");
  EXPECT_EQ(s.rows[3].group, "row three");
  EXPECT_EQ(s.total, 3);
  EXPECT_EQ(s.accepted, 2);
}

TEST(Score, TablesNameTheRowsThatWereSkipped) {
  const test::Case c = three_rows();
  const Score s = score(c.runs, c.predictions, {"gpu"});
  ASSERT_EQ(s.tables.size(), 2u);
  ASSERT_EQ(s.tables[0].lines.size(), 2u);
  EXPECT_EQ(s.tables[0].lines[0].value, "H100");
  EXPECT_EQ(s.tables[0].lines[0].errors.rows, 1);
  EXPECT_EQ(s.tables[0].lines[1].value, "X9");
  EXPECT_EQ(s.tables[0].lines[1].errors.skipped, 1);
}

TEST(Predict, ScalesAreNamed) {
  EXPECT_EQ(scale_of(1), "1 GPU");
  EXPECT_EQ(scale_of(8), "2 to 8");
  EXPECT_EQ(scale_of(64), "9 to 64");
  EXPECT_EQ(scale_of(512), "65 to 512");
  EXPECT_EQ(scale_of(4096), "513 to 4096");
  EXPECT_EQ(scale_of(4097), "above 4096");
}

}  // namespace
}  // namespace ergometer::validation
