#include "calibration/twin/sampling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::calibration::twin {
namespace {

std::vector<run::Sample> samples_of(int64_t count, double (*value)(int64_t)) {
  std::vector<run::Sample> samples;
  for (int64_t i = 0; i < count; ++i) samples.push_back({i * 1'000'000'000, value(i)});
  return samples;
}

TEST(SamplingError, ReadingsThatFollowEachOtherCountOnce) {
  const auto alternating = samples_of(64, [](int64_t i) { return static_cast<double>(i % 2); });
  EXPECT_NEAR(sampling_error(alternating), 0.5 / 8, 0.001);
  const auto two_levels = samples_of(64, [](int64_t i) { return i < 32 ? 0.0 : 1.0; });
  EXPECT_NEAR(sampling_error(two_levels), std::sqrt(2.0 / 7) / std::sqrt(8.0), 0.001);
}

TEST(RiseToCome, IsThatOfHeatThatSettlesInFortySeconds) {
  run::DeviceLog log;
  log.devices.resize(3);
  for (run::Device& gpu : log.devices)
    gpu.series = {{.metric = run::Metric::kGpuTemperature,
                   .samples = samples_of(81, [](int64_t i) {
                     return 60 - 30 * std::exp(-static_cast<double>(i) / 40);
                   })}};
  EXPECT_NEAR(rise_to_come_k(log), 60 - (60 - 30 * (1 - std::exp(-2.0)) / 2), 3)
      << "of the mean over the readings";
  EXPECT_NEAR(rise_to_come_k(later_half(log)), 30 * std::exp(-1.5), 2);
  EXPECT_EQ(rise_to_come_k({}), 0);
}

}  // namespace
}  // namespace ergometer::calibration::twin
