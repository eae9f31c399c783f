#include "engine/power/period_work.h"

#include <gtest/gtest.h>

namespace ergometer::engine {
namespace {

SliceWork joules(double tensor_j) { return {.energy = {.tensor_j = tensor_j}, .clocked_s = 0}; }

/// 10 J from 1 to 3 s and 6 J from 2 to 5 s: 5 J/s, then 7, then 2.
PeriodWork two_kernels() {
  PeriodWork work;
  work.add(1, 3, joules(10));
  work.add(2, 5, {.energy = {.tensor_j = 6}, .clocked_s = 3});
  work.close();
  return work;
}

TEST(PeriodWork, SharesOnePeriodOverTime) {
  const PeriodWork work = two_kernels();
  const auto between = [&](double from_s, double to_s) {
    return work.between(from_s, to_s, 0, 0, 100).energy.tensor_j;
  };
  EXPECT_DOUBLE_EQ(between(0, 1), 0);
  EXPECT_DOUBLE_EQ(between(1, 2), 5);
  EXPECT_DOUBLE_EQ(between(2, 3), 7);
  EXPECT_DOUBLE_EQ(between(2.5, 4), 3.5 + 2);
  EXPECT_DOUBLE_EQ(between(4.5, 9), 1);
  EXPECT_DOUBLE_EQ(between(-1, 9), 16);
}

// A period every 3 s: period k lies 1 + 3 k .. 5 + 3 k, so two of them overlap.
TEST(PeriodWork, AddsUpPeriodsThatOverlap) {
  const PeriodWork work = two_kernels();
  EXPECT_DOUBLE_EQ(work.between(4, 5, 0, 9, 3).energy.tensor_j, 2 + 5);  // tail of 0, head of 1
  EXPECT_DOUBLE_EQ(work.between(4, 5, 1, 9, 3).energy.tensor_j, 5);
  EXPECT_DOUBLE_EQ(work.between(4, 5, 0, 0, 3).energy.tensor_j, 2);
  EXPECT_DOUBLE_EQ(work.between(0, 100, 1, 9, 3).energy.tensor_j, 9 * 16);
  EXPECT_DOUBLE_EQ(work.between(0, 100, 1, 9, 3).clocked_s, 9 * 3);
  EXPECT_EQ(work.between(60, 100, 1, 9, 3).energy.tensor_j, 0);
}

TEST(PeriodWork, PutsWhatTakesNoTimeWhereItIs) {
  PeriodWork work;
  work.add(2, 2, joules(4));
  work.close();
  EXPECT_DOUBLE_EQ(work.between(1, 3, 0, 0, 10).energy.tensor_j, 4);
  EXPECT_DOUBLE_EQ(work.between(3, 5, 0, 0, 10).energy.tensor_j, 0);
  EXPECT_DOUBLE_EQ(PeriodWork{}.between(0, 5, 0, 9, 1).energy.tensor_j, 0);
}

}  // namespace
}  // namespace ergometer::engine
