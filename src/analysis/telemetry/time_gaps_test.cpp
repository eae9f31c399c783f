#include "analysis/telemetry/time_gaps.h"

#include <gtest/gtest.h>

#include "analysis/telemetry/telemetry.h"

namespace ergometer::analysis {
namespace {

constexpr int64_t kS = 1'000'000'000;

/// A reading of 100 W each second, from `from_s` to `to_s`.
void read(std::vector<run::Sample>& samples, int64_t from_s, int64_t to_s) {
  for (int64_t s = from_s; s <= to_s; ++s) samples.push_back({s * kS, 100});
}

run::DeviceLog gpu_log(run::Metric metric, std::vector<run::Sample> samples) {
  run::Device gpu;
  gpu.rank = 0;
  gpu.series.push_back({metric, false, std::move(samples)});
  run::DeviceLog log;
  log.devices.push_back(std::move(gpu));
  return log;
}

TEST(TimeGaps, TwoRecordingsADayApart) {
  std::vector<run::Sample> samples;
  read(samples, 0, 300);
  read(samples, 86400, 86700);
  const TelemetryReport report = analyze_telemetry(gpu_log(run::Metric::kPower, samples));
  const DeviceReport& gpu = report.devices[0];
  EXPECT_NEAR(gpu.energy_j, 2 * 300 * 100, 1e-6);
  EXPECT_NEAR(gpu.mean_w, 100, 1e-9);
  ASSERT_EQ(gpu.gaps.size(), 1U);
  EXPECT_EQ(gpu.gaps[0].from_ns, 300 * kS);
  EXPECT_EQ(gpu.gaps[0].to_ns, 86400 * kS);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("86,100 s from second 300"), std::string::npos);
}

TEST(TimeGaps, AShortBreakOrALateReadingIsNone) {
  std::vector<run::Sample> samples;
  read(samples, 0, 100);
  read(samples, 110, 200);  // 10 s is not more than 10 s
  EXPECT_TRUE(gaps_in(samples).empty());
  samples.clear();
  for (int64_t i = 0; i < 20; ++i) samples.push_back({(i < 10 ? i : i + 4) * 15 * kS, 100});
  EXPECT_TRUE(gaps_in(samples).empty());  // 75 s is not more than five times 15 s
  samples.push_back({(24 + 5) * 15 * kS, 100});
  EXPECT_EQ(gaps_in(samples).size(), 1U);  // 90 s is
}

TEST(TimeGaps, OfACounterThatBeganAnewTheLostStretchIsLeftOut) {
  // 100 W; between 40 s and 50 s the driver was loaded again, and at 50 s the counter is at 0.
  std::vector<run::Sample> samples;
  for (int64_t s = 0; s <= 100; s += 10)
    samples.push_back({s * kS, static_cast<double>(s < 50 ? s : s - 50) * 100});
  const TelemetryReport report = analyze_telemetry(gpu_log(run::Metric::kEnergy, samples));
  const DeviceReport& gpu = report.devices[0];
  EXPECT_NEAR(gpu.energy_j, 9000, 1e-6);  // 4,000 J and 5,000 J
  EXPECT_NEAR(gpu.mean_w, 100, 1e-9);     // over 90 s, not 100 s
  ASSERT_EQ(gpu.resets.size(), 1U);
  EXPECT_EQ(gpu.resets[0].from_ns, 40 * kS);
  EXPECT_EQ(report.notes.size(), 1U);
}

TEST(TimeGaps, WithoutTakesOverlappingGapsOut) {
  const std::vector<TimeSpan> left = without({0, 100}, {{40, 60}, {10, 20}, {50, 70}, {90, 120}});
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0].to_ns, 10);
  EXPECT_EQ(left[1].from_ns, 20);
  EXPECT_EQ(left[1].to_ns, 40);
  EXPECT_EQ(left[2].from_ns, 70);
  EXPECT_EQ(left[2].to_ns, 90);
}

TEST(TimeGaps, RecordedIsWhatLiesInNoGap) {
  const std::vector<TimeSpan> gaps = {{10 * kS, 20 * kS}, {40 * kS, 70 * kS}};
  EXPECT_DOUBLE_EQ(recorded_s({0, 100 * kS}, gaps), 60);
  EXPECT_DOUBLE_EQ(recorded_s({15 * kS, 45 * kS}, gaps), 20);
  EXPECT_DOUBLE_EQ(recorded_s({50 * kS, 60 * kS}, gaps), 0);
  EXPECT_DOUBLE_EQ(recorded_s({20 * kS, 40 * kS}, gaps), 20);
}

}  // namespace
}  // namespace ergometer::analysis
