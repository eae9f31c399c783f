#include "analysis/telemetry/throttling.h"

#include <gtest/gtest.h>

#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

/// One reading a second.
run::Series every_second(run::Metric metric, std::initializer_list<double> values) {
  run::Series series;
  series.metric = metric;
  for (const double value : values)
    series.samples.push_back({static_cast<int64_t>(series.samples.size()) * kSecond, value});
  return series;
}

// The header's: brake with hw_slowdown for 3 s of 10, hw_slowdown alone for 1 s.
TEST(Throttling, ASummaryBitIsNoReasonBesideOne) {
  run::Device gpu;
  gpu.series.push_back(every_second(run::Metric::kEventReasons,
                                    {0x88, 0x88, 0x88, 0x8, 0, 0, 0x1, 0, 0, 0x10, 0x8}));
  const auto throttling = throttling_of(gpu);
  ASSERT_TRUE(throttling);
  EXPECT_DOUBLE_EQ(throttling->fraction, 0.4);
  ASSERT_EQ(throttling->reasons.size(), 2U);
  EXPECT_EQ(throttling->main(), "hw_power_brake_slowdown");
  EXPECT_DOUBLE_EQ(throttling->reasons[0].fraction, 0.3);
  EXPECT_EQ(throttling->reasons[1].reason, "hw_slowdown");
  EXPECT_DOUBLE_EQ(throttling->reasons[1].fraction, 0.1);
}

TEST(Throttling, OfEquallyLongReasonsTheMostSevere) {
  run::Device gpu;
  gpu.series.push_back(every_second(run::Metric::kEventReasons, {0x24, 0x24, 0}));
  EXPECT_EQ(throttling_of(gpu)->main(), "sw_thermal_slowdown");
}

TEST(Throttling, OfCountersOfTime) {
  run::Device gpu;
  EXPECT_FALSE(throttling_of(gpu));
  gpu.series.push_back(every_second(run::Metric::kSyncBoostTime, {0, 2}));
  EXPECT_FALSE(throttling_of(gpu));
  gpu.series.push_back(every_second(run::Metric::kSwPowerCapTime, {10, 10.25, 10.5}));
  gpu.series.push_back(every_second(run::Metric::kHwPowerBrakeTime, {0, 1, 1}));
  const auto throttling = throttling_of(gpu);
  ASSERT_TRUE(throttling);
  EXPECT_DOUBLE_EQ(throttling->fraction, 0.5);
  EXPECT_EQ(throttling->main(), "hw_power_brake_slowdown");
  EXPECT_DOUBLE_EQ(throttling->reasons.at(1).fraction, 0.25);
}

/// A counter that stands is an answer: nothing held the clock.
TEST(Throttling, OfACounterThatStands) {
  run::Device gpu;
  gpu.series.push_back(every_second(run::Metric::kSwThermalTime, {7, 7, 7}));
  const auto throttling = throttling_of(gpu);
  ASSERT_TRUE(throttling);
  EXPECT_EQ(throttling->fraction, 0);
  EXPECT_EQ(throttling->main(), "");
  EXPECT_TRUE(counted_reasons(gpu).empty());
}

TEST(Throttling, AdviceSpeaksOfTheReason) {
  const auto speaks_of = [](std::string_view reason, std::string_view word) {
    return advice_for(reason).try_next.find(word) != std::string_view::npos;
  };
  EXPECT_TRUE(speaks_of("hw_power_brake_slowdown", "power supplies"));
  EXPECT_FALSE(speaks_of("hw_power_brake_slowdown", "fan"));
  EXPECT_TRUE(speaks_of("sw_thermal_slowdown", "fans"));
  EXPECT_TRUE(speaks_of("hw_thermal_slowdown", "fans"));
  EXPECT_TRUE(speaks_of("sw_power_cap", "power limit"));
  EXPECT_EQ(&advice_for("something else"), &advice_for("hw_slowdown"));
}

}  // namespace
}  // namespace ergometer::analysis
