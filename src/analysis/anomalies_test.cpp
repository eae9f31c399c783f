#include "analysis/anomalies.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "analysis/level_changes.h"
#include "analysis/test_traces.h"
#include "base/random.h"

namespace ergometer::analysis {
namespace {

/// Noise of mean 100 and deviation 1, each value correlated with the one before.
std::vector<double> noise(uint64_t seed, size_t count, double correlation) {
  const base::Random random(seed, 0, "noise");
  std::vector<double> values;
  double state = 0;
  for (size_t i = 0; i < count; ++i) {
    state = correlation * state + std::sqrt(1 - correlation * correlation) * random.normal(i);
    values.push_back(100 + state);
  }
  return values;
}

double false_alarms(double correlation) {
  constexpr int kSeries = 2000;
  constexpr std::array kLengths = {20, 50, 240, 1000};
  int alarms = 0;
  for (int i = 0; i < kSeries; ++i)
    alarms += level_changes(noise(static_cast<uint64_t>(i), kLengths[i % 4], correlation)).empty()
                  ? 0
                  : 1;
  return static_cast<double>(alarms) / kSeries;
}

// The rates that the header states.
TEST(LevelChanges, AreRarelySeenInNoise) {
  EXPECT_LT(false_alarms(0), 0.001);
  EXPECT_LT(false_alarms(0.5), 0.02);
}

TEST(LevelChanges, AreFoundWhereTheyAre) {
  int found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<double> values = noise(seed, 240, 0);
    for (size_t i = 100; i < values.size(); ++i) values[i] += 2;
    const auto changes = level_changes(values);
    if (changes.size() != 1) continue;
    ++found;
    EXPECT_NEAR(static_cast<double>(changes[0].at), 100, 8);
    EXPECT_NEAR(changes[0].after - changes[0].before, 2, 0.6);
  }
  EXPECT_GE(found, 95);
}

TEST(LevelChanges, SpikesAreNone) {
  std::vector<double> values = noise(1, 240, 0);
  for (size_t i = 20; i < values.size(); i += 40) values[i] = 500;
  EXPECT_TRUE(level_changes(values).empty());
}

TEST(LevelChanges, OfConstantsByHand) {
  std::vector<double> values(20, 5.0);
  EXPECT_TRUE(level_changes(values).empty());
  for (size_t i = 12; i < 20; ++i) values[i] = 7;
  const auto changes = level_changes(values);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].at, 12u);
  EXPECT_DOUBLE_EQ(changes[0].before, 5);
  EXPECT_DOUBLE_EQ(changes[0].after, 7);
  EXPECT_TRUE(level_changes(values, {.least_move = 3}).empty());
  EXPECT_TRUE(level_changes({}).empty());
}

run::RankTrace steps_of(int64_t rank, const std::vector<double>& seconds) {
  TestTrace t(rank);
  int64_t at = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const auto length = static_cast<int64_t>(seconds[i] * 1e9);
    t.step(static_cast<int64_t>(i), at, at + length);
    at += length;
  }
  return t.trace;
}

TEST(Anomalies, StepTimeThatRises) {
  std::vector<double> seconds = noise(3, 100, 0);
  for (size_t i = 60; i < 100; ++i) seconds[i] += 8;
  const Anomalies found = find_anomalies({steps_of(0, seconds)}, {});
  ASSERT_EQ(found.shifts.size(), 1u);
  EXPECT_EQ(found.shifts[0].rank, -1);
  EXPECT_NEAR(static_cast<double>(found.shifts[0].step), 60, 1);
  EXPECT_NEAR(found.shifts[0].after, 108, 1);
  EXPECT_TRUE(found.spikes.empty());
}

TEST(Anomalies, SlowStepsAtAnInterval) {
  std::vector<double> seconds = noise(4, 100, 0);
  for (size_t i = 10; i < 100; i += 25) seconds[i] += 40;
  const Anomalies found = find_anomalies({steps_of(0, seconds)}, {});
  EXPECT_TRUE(found.shifts.empty());
  ASSERT_EQ(found.spikes.size(), 1u);
  EXPECT_EQ(found.spikes[0].count, 4);
  EXPECT_DOUBLE_EQ(found.spikes[0].every_steps, 25);
  EXPECT_NEAR(found.spikes[0].extra_s, 40, 2);
  EXPECT_NEAR(found.spikes[0].cost_per_step_s, 1.6, 0.1);
  for (size_t i = 0; i < 100; ++i) seconds[i] = i == 7 || i == 30 || i == 88 ? 140 : 100;
  EXPECT_EQ(find_anomalies({steps_of(0, seconds)}, {}).spikes.at(0).every_steps, 0);
}

TEST(Anomalies, ARankBesideTheJob) {
  std::vector<run::RankTrace> ranks;
  for (int64_t rank = 0; rank < 5; ++rank) {
    std::vector<double> seconds = noise(static_cast<uint64_t>(rank), 100, 0);
    for (size_t i = 50; rank == 3 && i < 100; ++i) seconds[i] += 8;
    ranks.push_back(steps_of(rank, seconds));
  }
  const Anomalies found = find_anomalies(ranks, {});
  ASSERT_EQ(found.shifts.size(), 1u);
  EXPECT_EQ(found.shifts[0].rank, 3);
}

run::DeviceLog temperatures(double hot, double drift_c) {
  run::DeviceLog log;
  for (int64_t rank = 0; rank < 8; ++rank) {
    run::Device device;
    device.rank = rank;
    device.name = "H100";
    run::Series series;
    series.metric = run::Metric::kGpuTemperature;
    const base::Random random(7, static_cast<uint64_t>(rank), "temperature");
    for (int64_t i = 0; i < 600; ++i) {
      double c = 60 + static_cast<double>(rank % 4) + random.normal(static_cast<uint64_t>(i));
      if (rank == 5) c += hot + (i >= 300 ? drift_c : 0);
      series.samples.push_back({i * kSecond, c});
    }
    device.series.push_back(series);
    log.devices.push_back(device);
  }
  return log;
}

TEST(Anomalies, AGpuThatDiffersAndOneThatDrifts) {
  EXPECT_TRUE(find_anomalies({}, temperatures(0, 0)).deviations.empty());
  const Anomalies outlier = find_anomalies({}, temperatures(15, 0));
  ASSERT_EQ(outlier.deviations.size(), 1u);
  EXPECT_EQ(outlier.deviations[0].kind, PeerDeviation::Kind::kOutlier);
  EXPECT_EQ(outlier.deviations[0].rank, 5);
  EXPECT_NEAR(outlier.deviations[0].own - outlier.deviations[0].peers, 14.5, 0.6);
  const Anomalies drift = find_anomalies({}, temperatures(0, 6));
  ASSERT_EQ(drift.deviations.size(), 1u);
  EXPECT_EQ(drift.deviations[0].kind, PeerDeviation::Kind::kDrift);
  EXPECT_EQ(drift.deviations[0].rank, 5);
  EXPECT_NEAR(drift.deviations[0].moved, 6, 0.5);
  EXPECT_NEAR(static_cast<double>(drift.deviations[0].time_ns), 300e9, 15e9);
  ASSERT_EQ(drift.shifts.size(), 1u);  // the GPU's own temperature changes too
  EXPECT_EQ(drift.shifts[0].what, "gpu_temperature");
}

}  // namespace
}  // namespace ergometer::analysis
