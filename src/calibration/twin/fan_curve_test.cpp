#include "calibration/twin/fan_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace ergometer::calibration::twin {
namespace {

constexpr int64_t kFanBeatNs = 5'000'000'000;

/// Two GPUs of a node that warm up from `from_c` to `to_c`, the second 4 K cooler, and fans that
/// follow the hottest: 30 % up to 50 C, full at 80 C, whole percents.
run::DeviceLog warming(double from_c, double to_c, run::Metric metric = run::Metric::kFan) {
  constexpr int64_t kFanReadings = 200;
  run::DeviceLog log;
  log.devices.resize(3);
  for (run::Device& device : log.devices) device.host = "n1";
  log.devices[2].kind = run::DeviceKind::kNode;
  for (size_t gpu : {0, 1})
    log.devices[gpu].series = {{.metric = run::Metric::kGpuTemperature, .samples = {}}};
  log.devices[2].series = {{.metric = metric, .samples = {}}};
  for (int64_t i = 0; i < kFanReadings; ++i) {
    const double c = from_c + (to_c - from_c) * static_cast<double>(i) / (kFanReadings - 1);
    const double noise = 0.02 * base::Random(1, static_cast<uint64_t>(i), "fan").normal(0);
    const double speed = std::clamp(0.3 + 0.7 * (c - 50) / 30 + noise, 0.3, 1.0);
    log.devices[0].series[0].samples.push_back({i * kFanBeatNs, std::round(c - 4)});
    log.devices[1].series[0].samples.push_back({i * kFanBeatNs, std::round(c)});
    log.devices[2].series[0].samples.push_back({i * kFanBeatNs + 1, std::round(100 * speed)});
  }
  return log;
}

TEST(FanCurve, FollowsTheHottestGpuOfTheNode) {
  const auto told = fan_curve(warming(40, 78)).curve;
  ASSERT_TRUE(told.has_value());
  EXPECT_NEAR(told->lowest, 0.3, 2 * told->lowest_error);
  EXPECT_NEAR(told->start_c, 50, 2 * told->start_error_k);
  EXPECT_NEAR(told->full_c, 80, 2 * told->full_error_k);
  EXPECT_LT(told->start_error_k, 2);
  EXPECT_LT(told->full_error_k, 3);
}

TEST(FanCurve, SpeedsThatFollowNothingTellNone) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    run::DeviceLog log = warming(40, 78);
    for (size_t i = 0; i < log.devices[2].series[0].samples.size(); ++i) {
      const double draw = base::Random(seed, i, "loose fan").normal(0);
      log.devices[2].series[0].samples[i].value = std::clamp(50 + 20 * draw, 30.0, 90.0);
    }
    EXPECT_EQ(fan_curve(log).not_told, "the fans do not follow the hottest GPU") << seed;
  }
}

TEST(FanCurve, SaysWhyItIsNotTold) {
  EXPECT_EQ(fan_curve({}).not_told, "no speed of fans was recorded");
  EXPECT_EQ(fan_curve(warming(40, 78, run::Metric::kFanSpeed)).not_told,
            "fans were read in turns a minute, whose full speed is not known");
  EXPECT_EQ(fan_curve(warming(60, 62)).not_told,
            "temperatures moved too little for the fans to show how they follow");
  EXPECT_EQ(fan_curve(warming(56, 78)).not_told,
            "no reading shows the fans at rest, below which they do not fall");
}

}  // namespace
}  // namespace ergometer::calibration::twin
