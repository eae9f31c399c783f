#include "calibration/twin/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

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

TEST(Unsettled, IsThatOfHeatThatSettlesInFortySeconds) {
  run::DeviceLog log;
  log.devices.resize(3);
  for (run::Device& gpu : log.devices)
    gpu.series = {{.metric = run::Metric::kGpuTemperature,
                   .samples = samples_of(81, [](int64_t i) {
                     return 60 - 30 * std::exp(-static_cast<double>(i) / 40);
                   })}};
  EXPECT_NEAR(unsettled_k(log), 60 - (60 - 30 * (1 - std::exp(-2.0)) / 2), 3)
      << "of the mean over the readings";
  EXPECT_NEAR(unsettled_k(run::readings_within(log, 40'000'000'000, 80'000'000'000)),
              30 * std::exp(-1.5), 2);
  EXPECT_EQ(unsettled_k({}), 0);
}

run::DeviceLog gpus_of(run::Metric metric, int64_t count, double (*value)(int64_t)) {
  run::DeviceLog log;
  log.devices.resize(3);
  for (run::Device& gpu : log.devices)
    gpu.series = {{.metric = metric, .samples = samples_of(count, value)}};
  return log;
}

TEST(Unsettled, AStepsOwnUpsAndDownsAreNone) {
  // Warm at work, and cooler at its end than at its start: of 40 s the halves would make -4.3 K.
  const auto log = gpus_of(run::Metric::kGpuTemperature, 13, [](int64_t i) {
    return i < 2 ? 61.0 : i < 8 ? 63.0 : 61.5;
  });
  EXPECT_EQ(unsettled_k(log), 0) << "its end is warmer than its start";
}

double warming(int64_t i) { return 60 - 30 * std::exp(-static_cast<double>(i) / 40); }

TEST(SettledPart, IsTheLatestThatHasReadingsEnough) {
  const auto long_enough = gpus_of(run::Metric::kGpuTemperature, 601, warming);
  const Settled late = settled_part(long_enough);
  EXPECT_EQ(late.part, 2) << "what was to come is in its first half";
  EXPECT_NEAR(late.off_k, 0, 0.5);
  const Settled warm = settled_part(gpus_of(run::Metric::kGpuTemperature, 81, warming));
  EXPECT_EQ(warm.part, 4);
  EXPECT_GT(warm.off_k, 3);
  const Settled few = settled_part(gpus_of(run::Metric::kGpuTemperature, 13, warming));
  EXPECT_EQ(few.part, 1) << "its half has seven";
  EXPECT_EQ(few.log.devices.front().series.front().samples.size(), 13U);
  EXPECT_GT(few.off_k, 3);
}

TEST(SettledPart, SecondsDoNotTell) {
  run::DeviceLog log = gpus_of(run::Metric::kGpuTemperature, 8, warming);
  EXPECT_EQ(settled_part(log).off_k, 3);
  EXPECT_NE(settled_part(log).short_of.find("7.0 s are too short"), std::string::npos);
  log.source = "simulated";
  EXPECT_EQ(settled_part(log).off_k, 0) << "a step at rest";
}

TEST(AtWork, IsFromTheFirstToTheLastReadingAtWork) {
  const auto span = [](const run::DeviceLog& log) {
    const auto& samples = log.devices.front().series.front().samples;
    return std::pair(samples.front().time_ns / 1'000'000'000,
                     samples.back().time_ns / 1'000'000'000);
  };
  const auto rests = gpus_of(run::Metric::kPower, 100, [](int64_t i) {
    return i < 20 || i >= 90 ? 100.0 : i % 7 == 0 ? 300.0 : 600.0;
  });
  EXPECT_EQ(span(at_work(rests)), std::pair(int64_t{20}, int64_t{89}));
  const auto pause =
      gpus_of(run::Metric::kPower, 100, [](int64_t i) { return i >= 97 ? 100.0 : 600.0; });
  EXPECT_EQ(span(at_work(pause)), std::pair(int64_t{0}, int64_t{99})) << "a step's own end";
  EXPECT_TRUE(at_work({}).devices.empty());
}

}  // namespace
}  // namespace ergometer::calibration::twin
