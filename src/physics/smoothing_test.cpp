#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "physics/facility.h"
#include "physics/ramps.h"

namespace ergometer::physics {
namespace {

/// A whole series through one GPU's state machine.
struct Smoothed {
  PowerSeries series;
  double burnt_j = 0;    ///< wasted to hold floor and downward ramp
  double missing_j = 0;  ///< that the upward ramp kept from the load: it would have run slower
};

Smoothed smooth(const PowerSeries& load, const Smoothing& smoothing) {
  Smoothed result;
  result.series.interval_s = load.interval_s;
  result.series.watts.reserve(load.watts.size());
  Smoother smoother(smoothing);
  for (const double asked_w : load.watts) {
    const double watts = smoother.advance(asked_w, load.interval_s);
    result.series.watts.push_back(watts);
    result.burnt_j += std::max(watts - asked_w, 0.0) * load.interval_s;
    result.missing_j += std::max(asked_w - watts, 0.0) * load.interval_s;
  }
  return result;
}

double energy_j(const PowerSeries& series) {
  return std::accumulate(series.watts.begin(), series.watts.end(), 0.0) * series.interval_s;
}

TEST(Smoothing, FloorIsHeldForTheHysteresis) {
  // 600 W, then 100 W; floor 400 W for 2 s.
  const PowerSeries load{1, {600, 100, 100, 100, 100, 600}};
  const Smoothed smoothed = smooth(load, {.floor_w = 400, .hysteresis_s = 2});
  EXPECT_EQ(smoothed.series.watts, (std::vector<double>{600, 400, 400, 100, 100, 600}));
  EXPECT_DOUBLE_EQ(smoothed.burnt_j, 600);
  EXPECT_DOUBLE_EQ(smoothed.missing_j, 0);
}

TEST(Smoothing, FloorBeginsWhenTheLoadFirstReachesIt) {
  const PowerSeries load{1, {100, 399, 400, 100}};
  const Smoothed smoothed = smooth(load, {.floor_w = 400, .hysteresis_s = 10});
  EXPECT_EQ(smoothed.series.watts, (std::vector<double>{100, 399, 400, 400}));
}

TEST(Smoothing, ReturnOfTheLoadRestartsTheHysteresis) {
  const PowerSeries load{1, {500, 100, 500, 100, 100, 100}};
  const Smoothed smoothed = smooth(load, {.floor_w = 400, .hysteresis_s = 2});
  EXPECT_EQ(smoothed.series.watts, (std::vector<double>{500, 400, 500, 400, 400, 100}));
}

TEST(Smoothing, RampsHoldBothWays) {
  // 100 W/s up, 50 W/s down, intervals of 2 s.
  const PowerSeries load{2, {100, 600, 600, 600, 100, 100}};
  const Smoothed smoothed = smooth(load, {.up_w_per_s = 100, .down_w_per_s = 50});
  EXPECT_EQ(smoothed.series.watts, (std::vector<double>{100, 300, 500, 600, 500, 400}));
  // 300 + 100 W for 2 s were not there; 400 + 300 W for 2 s were burnt.
  EXPECT_DOUBLE_EQ(smoothed.missing_j, 800);
  EXPECT_DOUBLE_EQ(smoothed.burnt_j, 1400);
}

// Bursts of 1500 W a fourth of the time, else 500 W: what is burnt leaves the mean at the cap of
// 1000 W, which is 833 W between bursts; a floor of 900 W gives way as much.
TEST(Smoothing, BurnsNoMoreThanLeavesTheMeanAtTheCap) {
  for (const Smoothing& limits : {Smoothing{.down_w_per_s = 50, .most_w = 1000},
                                  Smoothing{.floor_w = 900, .hysteresis_s = 60, .most_w = 1000}}) {
    Smoother smoother(limits);
    double sum_w = 0, least_w = 1e9;
    for (int i = 0; i < 4000; ++i) {
      const double watts = smoother.advance(i % 4 == 0 ? 1500 : 500, 0.1);
      if (i < 2000) continue;
      sum_w += watts;
      least_w = std::min(least_w, watts);
    }
    EXPECT_NEAR(sum_w / 2000, 1000, 1);
    EXPECT_NEAR(least_w, 833, 60);
  }
}

TEST(Smoothing, SaysWhatARampLacks) {
  // 1 s each: 500 W of the second sample do not come; without a ramp power rises by 600 W there.
  Smoother slow({.up_w_per_s = 100}), quick({.up_w_per_s = 600});
  for (const double load_w : {100.0, 700.0, 100.0, 200.0}) {
    slow.advance(load_w, 1);
    quick.advance(load_w, 1);
  }
  EXPECT_EQ(slow.most_missing_w(), 500);
  EXPECT_EQ(slow.steepest_w_per_s(), 600);
  EXPECT_EQ(quick.most_missing_w(), 0);
  slow.count_anew();
  slow.advance(250, 1);
  EXPECT_EQ(slow.most_missing_w(), 0);
}

// 10 kW/s are 250 W in 25 ms, five samples. Both loads would rise by 500 W in that time.
TEST(Smoothing, AnUpwardRampLooksBack25Milliseconds) {
  const Smoothing ramp{.up_w_per_s = 10'000};
  const std::vector<double> at_once = {100, 600, 600, 600, 600, 600, 600, 600, 600},
                            by_and_by = {100, 200, 300, 400, 500, 600, 600, 600, 600};
  const auto expect = [](const std::vector<double>& watts, const std::vector<double>& expected) {
    ASSERT_EQ(watts.size(), expected.size());
    for (size_t i = 0; i < watts.size(); ++i) EXPECT_NEAR(watts[i], expected[i], 1e-9) << i;
  };
  expect(smooth({0.005, at_once}, ramp).series.watts,
         {100, 350, 350, 350, 350, 350, 600, 600, 600});
  expect(smooth({0.005, by_and_by}, ramp).series.watts,
         {100, 200, 300, 350, 350, 350, 450, 550, 600});
  for (const std::vector<double>& load : {at_once, by_and_by}) {
    Smoother smoother(ramp);
    for (const double load_w : load) smoother.advance(load_w, 0.005);
    EXPECT_NEAR(smoother.steepest_w_per_s(), 20'000, 1e-6);
    EXPECT_NEAR(smoother.most_missing_w(), 250, 1e-9);
  }
}

// Samples of 10 ms: 25 ms ago one half lies in the third sample before, one in the second.
TEST(Smoothing, AnUpwardRampMayLookIntoTheMiddleOfASample) {
  const Smoothed smoothed = smooth({0.01, {100, 600, 600, 600, 600, 600}}, {.up_w_per_s = 10'000});
  const std::vector<double> expected = {100, 350, 350, 475, 600, 600};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(smoothed.series.watts[i], expected[i], 1e-9) << i;
}

TEST(Smoothing, AnUpwardRampIsTheSameInShorterSamples) {
  const base::Random random(7, 0, "smoothing test");
  const Smoothing ramp{.up_w_per_s = 9000};
  Smoother coarse(ramp), fine(ramp);
  for (uint64_t i = 0; i < 1000; ++i) {
    const double load_w = random.uniform(i, 100, 1000), watts = coarse.advance(load_w, 0.025);
    for (int part = 0; part < 5; ++part) EXPECT_NEAR(fine.advance(load_w, 0.005), watts, 1e-9) << i;
  }
  EXPECT_GT(coarse.most_missing_w(), 100);
  EXPECT_NEAR(fine.most_missing_w(), coarse.most_missing_w(), 1e-9);
  EXPECT_NEAR(fine.steepest_w_per_s(), coarse.steepest_w_per_s(), 1e-6);
}

TEST(Smoothing, BurntAndMissingBalance) {
  const base::Random random(7, 0, "smoothing test");
  PowerSeries load{0.1, {}};
  for (uint64_t i = 0; i < 10'000; ++i) load.watts.push_back(random.uniform(i, 100, 1000));
  const Smoothing limits{
      .floor_w = 700, .up_w_per_s = 900, .down_w_per_s = 700, .hysteresis_s = 0.35};
  const Smoothed smoothed = smooth(load, limits);
  const double drawn = energy_j(smoothed.series);
  EXPECT_NEAR(energy_j(load) + smoothed.burnt_j - smoothed.missing_j, drawn, 1e-12 * drawn);
  for (size_t i = 1; i < smoothed.series.watts.size(); ++i) {
    const double slope = (smoothed.series.watts[i] - smoothed.series.watts[i - 1]) / 0.1;
    EXPECT_LE(slope, limits.up_w_per_s * (1 + 1e-9));
    EXPECT_GE(slope, -limits.down_w_per_s * (1 + 1e-9));
  }
  for (const Ramp& ramp : ramps(smoothed.series, false)) {
    EXPECT_LE(ramp.up_w_per_s, limits.up_w_per_s * (1 + 1e-9));
    EXPECT_LE(ramp.down_w_per_s, limits.down_w_per_s * (1 + 1e-9));
  }
}

TEST(Smoothing, WithoutLimitsNothingChanges) {
  const PowerSeries load{1, {100, 900, 0}};
  const Smoothed smoothed = smooth(load, {});
  EXPECT_EQ(smoothed.series.watts, load.watts);
  EXPECT_EQ(smoothed.burnt_j, 0);
  EXPECT_EQ(smoothed.missing_j, 0);
  EXPECT_TRUE(smooth({1, {}}, {.floor_w = 5}).series.watts.empty());
}

}  // namespace
}  // namespace ergometer::physics
