#include "engine/power/period_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

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

// Many kernels, most of them in a thousandth of the period, some without length, some at one time:
// whatever stretch is asked for, it is the sum of what each kernel has in it.
TEST(PeriodWork, FindsEveryCornerAmongMany) {
  struct Kernel {
    double begin_s, end_s, tensor_j;
  };
  constexpr int kKernels = 300;
  std::vector<Kernel> kernels;
  PeriodWork work;
  for (uint64_t i = 0; i < kKernels; ++i) {
    base::Random draw(7, i, "kernel");
    const double at_s = i % 4 == 0 ? draw.uniform(0, 0, 10) : 5 + draw.uniform(0, 0, 0.01);
    const double long_s = i % 5 == 0 ? 0 : draw.uniform(1, 0, 0.02);
    const double begin_s = i % 7 == 0 ? 5.005 : at_s;
    kernels.push_back({begin_s, begin_s + long_s, draw.uniform(2, 1, 2)});
    work.add(begin_s, begin_s + long_s, joules(kernels.back().tensor_j));
  }
  work.close();
  for (uint64_t i = 0; i < 500; ++i) {
    base::Random draw(8, i, "stretch");
    const double middle_s = i % 2 == 0 ? 5.005 : draw.uniform(0, 0, 10);
    const double from_s = middle_s - draw.uniform(1, 0, 0.02);
    const double to_s = middle_s + draw.uniform(2, 0.0001, 0.02);
    double wanted_j = 0;
    for (const Kernel& it : kernels) {
      const double inside_s = std::min(it.end_s, to_s) - std::max(it.begin_s, from_s);
      if (it.end_s > it.begin_s)
        wanted_j += it.tensor_j * std::max(0.0, inside_s) / (it.end_s - it.begin_s);
      else if (it.begin_s > from_s && it.begin_s <= to_s)
        wanted_j += it.tensor_j;
    }
    EXPECT_NEAR(work.between(from_s, to_s, 0, 0, 100).energy.tensor_j, wanted_j, 1e-9);
  }
}

}  // namespace
}  // namespace ergometer::engine
