#include "physics/facility.h"

#include <gtest/gtest.h>

namespace ergometer::physics {
namespace {

TEST(Facility, SummaryOfASquareWave) {
  // 0.5 s at 1 MW and 0.5 s at 3 MW, over and over.
  PowerSeries series{0.1, {}};
  for (int i = 0; i < 10; ++i) series.watts.push_back(i < 5 ? 1e6 : 3e6);
  const SeriesSummary summary = summarise(series, true);
  ASSERT_EQ(summary.ramps.size(), 4u);
  EXPECT_NEAR(summary.ramps[0].up_w_per_s, 2e7, 1e-3);
  EXPECT_DOUBLE_EQ(summary.dominant_hz, 1);
  // 2 / (10 sin(18 degrees)) = 0.64721 of 1 MW each way; x sqrt(2) = 0.91529 MW.
  EXPECT_NEAR(summary.dominant_rms_w, 0.91529e6, 10);
}

TEST(Facility, NineteenTwentiethsOfTheSamplesReachThePercentile) {
  std::vector<double> watts;
  for (int i = 100; i >= 1; --i) watts.push_back(i);
  EXPECT_EQ(percentile_95(watts), 95);
  EXPECT_EQ(percentile_95({3, 1, 2}), 3);
}

TEST(Facility, OneSampleAndNone) {
  const SeriesSummary single = summarise({0.1, {7}}, false);
  EXPECT_TRUE(single.ramps.empty());
  EXPECT_TRUE(single.bands.empty());
  EXPECT_EQ(single.dominant_hz, 0);
  EXPECT_TRUE(summarise({0.1, {}}, true).ramps.empty());
  EXPECT_EQ(percentile_95({7}), 7);
}

}  // namespace
}  // namespace ergometer::physics
