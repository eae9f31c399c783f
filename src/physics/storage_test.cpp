#include <gtest/gtest.h>

#include <cmath>

#include "physics/facility.h"

namespace ergometer::physics {
namespace {

TEST(Storage, StepIsALagOfFirstOrder) {
  // From 0 to 100 W with a lag of 2 s: 100 (1 - exp(-t/2)). Mean over the second second:
  // 100 (1 - 2 (exp(0) - exp(-1/2))) = 100 (1 - 2 x 0.393469) = 21.306 W.
  const PowerSeries grid = behind_storage({1, {0, 100, 100}}, 2);
  EXPECT_EQ(grid.watts[0], 0);
  EXPECT_NEAR(grid.watts[1], 21.3061, 1e-4);
  // The third: 100 (1 - exp(-1/2) x 0.786939) = 52.270 W.
  EXPECT_NEAR(grid.watts[2], 52.2698, 1e-4);
}

TEST(Storage, GivesBackWhatItTook) {
  // 500 W for 100 s of 300 W before and behind: in the end storage is as full as before.
  for (const double lag : {0.01, 0.9, 2.0, 30.0}) {
    PowerSeries load{0.02, std::vector<double>(60'000, 300)};
    for (size_t i = 0; i < 5'000; ++i) load.watts[i + 5'000] = 500;
    const PowerSeries grid = behind_storage(load, lag);
    double given = 0;
    for (size_t i = 0; i < grid.watts.size(); ++i)
      given += (load.watts[i] - grid.watts[i]) * load.interval_s;
    EXPECT_NEAR(given, 0, 1e-9 * 300 * 1200) << lag;
  }
}

TEST(Storage, SmoothingOfASineIsThatOfALowPass) {
  // 1 Hz through a lag of 1 s: amplitude 1 / sqrt(1 + (2 pi)^2) = 0.15718 of 100 W.
  PowerSeries load{0.001, {}};
  for (int i = 0; i < 20'000; ++i)
    load.watts.push_back(500 + 100 * std::sin(2 * 3.14159265358979 * 0.001 * (i + 0.5)));
  PowerSeries grid = behind_storage(load, 1);
  grid.watts.erase(grid.watts.begin(), grid.watts.end() - 1000);
  EXPECT_NEAR(summarise(grid, true).dominant_rms_w * std::sqrt(2.0), 15.718, 0.01);
}

TEST(Storage, WithoutLagOrLoadNothingChanges) {
  EXPECT_EQ(behind_storage({1, {1, 2}}, 0).watts, (std::vector<double>{1, 2}));
  EXPECT_TRUE(behind_storage({1, {}}, 3).watts.empty());
}

}  // namespace
}  // namespace ergometer::physics
