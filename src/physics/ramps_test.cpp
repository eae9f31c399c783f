#include "physics/ramps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace ergometer::physics {
namespace {

const Ramp* over(const std::vector<Ramp>& ramps, double seconds) {
  for (const Ramp& ramp : ramps)
    if (ramp.over_s == seconds) return &ramp;
  return nullptr;
}

TEST(Ramps, StepRisesByItsHeightOverTheSpan) {
  // 0 for 5 s, then 100 W for 5 s.
  PowerSeries series{0.1, std::vector<double>(100, 0)};
  for (size_t i = 50; i < 100; ++i) series.watts[i] = 100;
  const auto found = ramps(series, false);
  ASSERT_EQ(found.size(), 2u);  // 10 s and 60 s do not fit twice into 10 s
  EXPECT_NEAR(over(found, 0.1)->up_w_per_s, 1000, 1e-9);
  EXPECT_NEAR(over(found, 1)->up_w_per_s, 100, 1e-9);
  EXPECT_EQ(over(found, 1)->down_w_per_s, 0);
  // The same over and over falls back at its end.
  const auto repeated = ramps(series, true);
  EXPECT_NEAR(over(repeated, 1)->down_w_per_s, 100, 1e-9);
}

TEST(Ramps, SquareWaveOverAMeanOfManyPeriodsIsFlat) {
  // 200 W for 0.5 s, 0 for 0.5 s: over 0.1 s the whole edge, over 1 s, a whole period, nothing.
  PowerSeries series{0.05, {}};
  for (int i = 0; i < 20; ++i) series.watts.push_back(i < 10 ? 200 : 0);
  const auto found = ramps(series, true);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_NEAR(over(found, 0.1)->up_w_per_s, 2000, 1e-9);
  EXPECT_NEAR(over(found, 0.1)->down_w_per_s, 2000, 1e-9);
  for (const double seconds : {1.0, 10.0, 60.0}) {
    EXPECT_NEAR(over(found, seconds)->up_w_per_s, 0, 1e-9) << seconds;
    EXPECT_NEAR(over(found, seconds)->down_w_per_s, 0, 1e-9) << seconds;
  }
}

TEST(Ramps, BordersWithinIntervalsCount) {
  // 0, 0, 0, 100, 100, 100 W in intervals of 0.4 s over 1 s: the edge at 1.2 s. Means end at 1.2 s
  // and span 2.5 intervals: 0 before, 100 behind.
  const auto found = ramps({0.4, {0, 0, 0, 100, 100, 100}}, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(over(found, 1)->up_w_per_s, 100, 1e-9);
  // Intervals of 0.8 s, 0, 100, 0 W, over 1 s: the mean of 1 s that ends at 1 s holds 0.2 s of
  // power, the next 0.6 s: (60 - 20) W/s; from 1.4 s on it falls by as much.
  const auto pulse = ramps({0.8, {0, 100, 0}}, false);
  EXPECT_NEAR(over(pulse, 1)->up_w_per_s, 40, 1e-9);
  EXPECT_NEAR(over(pulse, 1)->down_w_per_s, 40, 1e-9);
}

TEST(Ramps, SawtoothRisesSlowlyAndFallsAtOnce) {
  // 10 W/s for 10 s, then back to 0 within one interval of 0.1 s.
  PowerSeries series{0.1, {}};
  for (int i = 0; i < 300; ++i) series.watts.push_back(i % 100);
  const auto found = ramps(series, true);
  EXPECT_NEAR(over(found, 0.1)->up_w_per_s, 10, 1e-9);
  EXPECT_NEAR(over(found, 0.1)->down_w_per_s, 990, 1e-6);
  // Over 1 s: 94.5 before the edge (90 .. 99), 4.5 behind it.
  EXPECT_NEAR(over(found, 1)->up_w_per_s, 10, 1e-9);
  EXPECT_NEAR(over(found, 1)->down_w_per_s, 90, 1e-9);
  EXPECT_NEAR(over(found, 10)->up_w_per_s, 0, 1e-9);
}

TEST(Ramps, SineIsSteepestThroughItsMean) {
  // A sin(2 pi t / T), means over d: 2 A sin^2(pi d / T) / (pi d / T) / d. A = 100 W, T = 10 s,
  // d = 1 s: sin(18 degrees)^2 = 0.095492; x 200 / 0.314159 = 60.79 W/s.
  PowerSeries series{0.01, {}};
  for (int i = 0; i < 1000; ++i)
    series.watts.push_back(100 * std::sin(2 * std::numbers::pi * (i + 0.5) / 1000));
  const auto found = ramps(series, true);
  EXPECT_NEAR(over(found, 1)->up_w_per_s, 60.79, 0.01);
  EXPECT_NEAR(over(found, 1)->down_w_per_s, 60.79, 0.01);
}

TEST(Ramps, ShortAndConstantSeries) {
  EXPECT_TRUE(ramps({1, {}}, true).empty());
  EXPECT_TRUE(ramps({1, {5}}, false).empty());  // one second does not fit twice into one
  // One sample that repeats is constant, and tells nothing of what is shorter than itself.
  const auto single = ramps({1, {5}}, true);
  ASSERT_EQ(single.size(), 3u);
  EXPECT_EQ(single[0].over_s, 1);
  for (const Ramp& ramp : ramps({0.1, std::vector<double>(5000, 0.1)}, false)) {
    EXPECT_EQ(ramp.up_w_per_s, 0);
    EXPECT_EQ(ramp.down_w_per_s, 0);
  }
}

}  // namespace
}  // namespace ergometer::physics
