#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace ergometer::base {
namespace {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Pinned: a change of these numbers changes every simulation that draws.
TEST(Random, DrawsAreTheSameEverywhere) {
  const Random random(42, 7, "jitter");
  EXPECT_EQ(random.bits(0), 0xF6E687CC1540BF08u);
  EXPECT_EQ(random.bits(1), 0x5CF788CEE849E04Fu);
  EXPECT_EQ(random.uniform(0), 0.9644551156282003);
  EXPECT_EQ(random.normal(0), 1.8049035975990289);
  EXPECT_EQ(random.normal(1000000), 0.0088608832221767093);
}

TEST(Random, EveryPartOfTheKeyMatters) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (uint64_t entity = 0; entity < 20; ++entity)
      for (const char* purpose : {"", "a", "b"})
        for (uint64_t n = 0; n < 10; ++n) seen.insert(Random(seed, entity, purpose).bits(n));
  EXPECT_EQ(seen.size(), 20u * 20 * 3 * 10);
}

// 100,000 draws: the mean of a uniform draw has a standard error of 0.289 / sqrt(1e5) = 0.0009.
TEST(Random, UniformDrawsFillTheUnitIntervalEvenly) {
  const Random random(1, 2, "uniform");
  constexpr int kDraws = 100000;
  double sum = 0;
  std::array<int, 10> bins{};
  for (uint64_t n = 0; n < kDraws; ++n) {
    const double draw = random.uniform(n);
    ASSERT_GE(draw, 0);
    ASSERT_LT(draw, 1);
    sum += draw;
    ++bins[static_cast<size_t>(draw * 10)];
    ASSERT_EQ(random.below(n, 10), static_cast<int64_t>(draw * 10));
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.004);
  for (const int bin : bins) EXPECT_NEAR(bin, 10000, 400);  // standard deviation 95
}

TEST(Random, NeighbouringEntitiesAreNotCorrelated) {
  double product = 0;
  constexpr int kDraws = 100000;
  for (uint64_t n = 0; n < kDraws; ++n)
    product += Random(1, n, "x").normal(0) * Random(1, n + 1, "x").normal(0);
  EXPECT_NEAR(product / kDraws, 0, 0.015);  // standard error 0.0032
}

TEST(Random, NormalDrawsHaveMeanZeroAndVarianceOne) {
  const Random random(3, 4, "normal");
  constexpr int kDraws = 100000;
  double sum = 0, squares = 0;
  for (uint64_t n = 0; n < kDraws; ++n) {
    const double draw = random.normal(n);
    sum += draw;
    squares += draw * draw;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.015);     // standard error 0.0032
  EXPECT_NEAR(squares / kDraws, 1, 0.02);  // standard error 0.0045
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(0x1p-54), -8.2920, 1e-3);
  for (double p = 1e-16; p < 0.9; p *= 1.07) {
    const double back = normal_distribution(normal_quantile(p));
    // An error of one part in 2^53 at x = -8 moves p by x^2 = 64 times as much.
    EXPECT_NEAR(back / p, 1, 1e-13) << p;
  }
}

}  // namespace
}  // namespace ergometer::base
