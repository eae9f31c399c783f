#include "validation/series.h"

#include <gtest/gtest.h>

#include "validation/rows/test_row.h"

namespace ergometer::validation {
namespace {

/// Rows "tp,gbs", each with its measured and predicted seconds.
test::Case rows(const std::vector<std::array<double, 4>>& all) {
  std::string csv = "id,model,gpu,gpus,tp,gbs\n";
  for (size_t i = 0; i < all.size(); ++i)
    csv += "r" + std::to_string(i) + ",m,H100,8," + std::to_string(static_cast<int>(all[i][0])) +
           ',' + std::to_string(static_cast<int>(all[i][1])) + '\n';
  test::Case c{*parse_measured_runs(csv, "runs.csv"), std::vector<Prediction>(all.size())};
  for (size_t i = 0; i < all.size(); ++i) {
    c.predictions[i].measured.step_time_s = all[i][2];
    c.predictions[i].performance.step_time_s = all[i][3];
    c.predictions[i].memory.fits = true;
  }
  return c;
}

// Measured 10, 12, 11 s, predicted 9, 8, 10 s: tp 2 is chosen and costs 20 %. Blindly: 0, 20 and
// 10 %, 10 % in the mean. Pairs by measured order 10 < 11 < 12: predicted 9, 10, 8: one pair agrees
// and two do not, so the order is (1 - 2) / 3.
TEST(Series, LossIsWhatTheChosenLayoutTakesLongerThanTheBest) {
  const test::Case c = rows({{1, 8, 10, 9}, {2, 8, 12, 8}, {4, 8, 11, 10}});
  const SeriesReport report = find_series(c.runs, c.predictions);
  ASSERT_EQ(report.series.size(), 1u);
  const Series& series = report.series[0];
  EXPECT_NEAR(series.loss_pct, 20, 1e-9);
  EXPECT_NEAR(series.blind_loss_pct, 10, 1e-9);
  EXPECT_NEAR(series.order, -1.0 / 3, 1e-12);
  EXPECT_EQ(series.layouts[series.chosen].words, "tp 2");
  EXPECT_EQ(series.layouts[0].predicted_rank, 2);
  EXPECT_EQ(report.right, 0);
}

TEST(Series, AnotherBatchIsAnotherJobAndOneLayoutIsNoSeries) {
  const test::Case c = rows({{1, 8, 10, 9}, {2, 16, 12, 8}, {1, 8, 11, 9}});
  EXPECT_TRUE(find_series(c.runs, c.predictions).series.empty());
}

// Predicted not to fit: a search would not choose it, though it is predicted fastest.
TEST(Series, WhatDoesNotFitIsNotChosen) {
  test::Case c = rows({{1, 8, 10, 9}, {2, 8, 12, 8}});
  c.predictions[1].memory.fits = false;
  const SeriesReport report = find_series(c.runs, c.predictions);
  EXPECT_EQ(report.series[0].loss_pct, 0);
  EXPECT_EQ(report.right, 1);
}

// 10, 14 and 11 s of the same layout: 11 s.
TEST(Series, RepeatsCountByTheirMedian) {
  const test::Case c = rows({{1, 8, 10, 9}, {1, 8, 14, 9}, {1, 8, 11, 9}, {2, 8, 12, 13}});
  const SeriesReport report = find_series(c.runs, c.predictions);
  EXPECT_EQ(report.series[0].layouts[0].measured_s, 11);
  EXPECT_EQ(report.series[0].layouts[0].runs.size(), 3u);
  EXPECT_EQ(report.series[0].order, 1);
}

}  // namespace
}  // namespace ergometer::validation
