#include "analysis/telemetry/anomalies.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "analysis/math/level_changes.h"
#include "analysis/trace/test_traces.h"
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

/// Readings around 60 with noise of 1, one every `period_s`; from `at_s` on they are higher by
/// `step`.
std::vector<run::Sample> readings_that_step(uint64_t seed, double period_s, size_t count,
                                            double at_s, double step) {
  const base::Random random(seed, 0, "readings");
  std::vector<run::Sample> samples;
  for (size_t i = 0; i < count; ++i) {
    const double s = static_cast<double>(i) * period_s;
    samples.push_back({std::llround(s * 1e9), 60 + random.normal(i) + (s >= at_s ? step : 0)});
  }
  return samples;
}

// Wherever a step of 8 deviations lies, and however rare readings are: what is claimed lies within
// two readings of it. One that leaves five groups of readings on either side is claimed.
TEST(ReadingChanges, AreAtTheirTimeOrNotClaimed) {
  uint64_t seed = 0;
  for (const double period_s : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0}) {
    for (const size_t count : {40U, 61U, 120U, 240U, 500U, 2000U}) {
      for (const double part : {0.005, 0.03, 0.1, 0.33, 0.5, 0.77, 0.9, 0.96, 0.99}) {
        const double at_s = (std::floor(part * static_cast<double>(count)) - 0.5) * period_s;
        const auto changes = reading_changes(readings_that_step(++seed, period_s, count, at_s, 8),
                                             {.least_move = 3});
        const size_t group = (count + 239) / 240;
        const auto before = static_cast<size_t>(std::floor(part * static_cast<double>(count)));
        const bool room = std::min(before, count - before) >= 7 * group;
        SCOPED_TRACE(testing::Message()
                     << period_s << " s, " << count << " readings, step at " << before);
        EXPECT_LE(changes.size(), 1u);
        EXPECT_TRUE(!room || changes.size() == 1);
        for (const ChangePoint& change : changes) {
          EXPECT_NEAR(static_cast<double>(change.time_ns) * 1e-9, at_s, 2 * period_s);
          EXPECT_NEAR(change.after - change.before, 8, 1.5);
        }
      }
    }
  }
}

TEST(ReadingChanges, NothingIsMadeUpInAGap) {
  std::vector<run::Sample> samples = readings_that_step(1, 15, 200, 1500, 8);
  // The exporter was away for an hour around the step.
  for (run::Sample& sample : samples)
    if (sample.time_ns >= 1500 * kSecond) sample.time_ns += 3600 * kSecond;
  const auto changes = reading_changes(samples, {.least_move = 3});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].time_ns, 5100 * kSecond);
}

// Readings 60 62 | 58 80 81: the sum of squares about 60 and 80 is least with three before.
TEST(ReadingChanges, TheReadingThatPartsTwoLevels) {
  const std::vector<run::Sample> s = {{0, 60}, {1, 62}, {2, 58}, {3, 80}, {4, 81}};
  EXPECT_EQ(first_behind(s, 60, 80), 3u);
  EXPECT_EQ(first_behind(s, 80, 60), 0u);
  EXPECT_EQ(first_behind({s.data(), 3}, 60, 80), 3u);
}

TEST(LevelChanges, TheEndOfASeriesIsNoLevelYet) {
  std::vector<double> values(40, 5.0);
  values[38] = values[39] = 50;
  for (size_t i = 0; i < values.size(); ++i) values[i] += 0.01 * static_cast<double>(i % 3);
  EXPECT_TRUE(level_changes(values).empty());
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
  EXPECT_TRUE(find_anomalies({}, temperatures(-15, 0)).deviations.empty());  // just cool
  const Anomalies drift = find_anomalies({}, temperatures(0, 6));
  ASSERT_EQ(drift.deviations.size(), 1u);
  EXPECT_EQ(drift.deviations[0].kind, PeerDeviation::Kind::kDrift);
  EXPECT_EQ(drift.deviations[0].rank, 5);
  EXPECT_NEAR(drift.deviations[0].moved, 6, 0.5);
  EXPECT_NEAR(static_cast<double>(drift.deviations[0].time_ns), 300e9, 15e9);
  ASSERT_EQ(drift.shifts.size(), 1u);  // the GPU's own temperature changes too
  EXPECT_EQ(drift.shifts[0].what, "gpu_temperature");
}

/// GPUs that are read every `period_s`, a reading missing now and then, temperatures in whole
/// degrees. GPU 0 is cool and creeps up by 1.5 C; the last ones jump by 20 C at times of their own.
struct JumpingGpus {
  run::DeviceLog log;
  std::vector<double> jump_s;  ///< of the last ones
};

JumpingGpus jumping_gpus(uint64_t seed, size_t gpus, size_t jumpers, double period_s,
                         double noise_c) {
  JumpingGpus made;
  const size_t count = 120 + seed % 200;
  const double length_s = static_cast<double>(count) * period_s;
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    const base::Random random(seed, gpu, "jumping");
    run::Device device;
    device.host = gpu % 2 == 0 ? "node-1" : "node-2";
    device.index = static_cast<int64_t>(gpu / 2);
    device.rank = static_cast<int64_t>(gpu);
    run::Series series;
    series.metric = run::Metric::kGpuTemperature;
    const double base_c = gpu == 0 ? 42 : 58 + 6 * random.uniform(1'000'000);
    const double jump_s = length_s * (0.2 + 0.6 * random.uniform(1'000'001));
    const bool jumps = gpu + jumpers >= gpus;
    if (jumps) made.jump_s.push_back(jump_s);
    for (size_t i = 0; i < count; ++i) {
      if (random.uniform(2'000'000 + i) < 0.02) continue;
      const double s = static_cast<double>(i) * period_s;
      const double c = base_c + noise_c * random.normal(i) + (gpu == 0 ? 1.5 * s / length_s : 0) +
                       (jumps && s >= jump_s ? 20 : 0);
      series.samples.push_back({std::llround(s * 1e9), std::round(c)});
    }
    device.series.push_back(std::move(series));
    made.log.devices.push_back(std::move(device));
  }
  return made;
}

// Of 4 GPUs half jump: neither half is the norm, but only one of them moved.
TEST(Anomalies, GpusThatJumpDriftAndACoolOneDoesNot) {
  uint64_t seed = 0;
  for (const size_t gpus : {4U, 5U, 8U, 16U, 64U}) {
    for (const double period_s : {1.0, 5.0, 15.0, 60.0}) {
      for (const double noise_c : {0.1, 0.5, 1.0, 2.0}) {
        const size_t jumpers = seed % 2 == 0 ? 2 : gpus / 2;
        const JumpingGpus made = jumping_gpus(++seed, gpus, jumpers, period_s, noise_c);
        SCOPED_TRACE(testing::Message()
                     << gpus << " GPUs every " << period_s << " s, noise " << noise_c);
        std::vector<PeerDeviation> drifts;
        for (const PeerDeviation& d : find_anomalies({}, made.log).deviations)
          if (d.kind == PeerDeviation::Kind::kDrift) drifts.push_back(d);
        ASSERT_EQ(drifts.size(), jumpers);
        for (size_t i = 0; i < jumpers; ++i) {
          EXPECT_EQ(drifts[i].rank, static_cast<int64_t>(gpus - jumpers + i));
          EXPECT_NEAR(drifts[i].moved, 20, 1 + noise_c);
          EXPECT_NEAR(static_cast<double>(drifts[i].time_ns) * 1e-9, made.jump_s[i], 3 * period_s);
        }
      }
    }
  }
}

// Work begins on all but one: nobody drifts.
TEST(Anomalies, WhoStaysDoesNotDrift) {
  run::DeviceLog log = temperatures(0, 0);
  for (run::Device& device : log.devices)
    for (run::Sample& sample : device.series[0].samples)
      if (device.rank != 5 && sample.time_ns >= 300 * kSecond) sample.value += 20;
  for (const PeerDeviation& d : find_anomalies({}, log).deviations)
    EXPECT_NE(d.kind, PeerDeviation::Kind::kDrift);
}

/// A job begins on cold GPUs at 30 C: those in front end 25 C higher, those behind them, in their
/// warm air, `rear` times as much and a little later.
run::DeviceLog warming_up(double rear, double slow_rank_rise_c) {
  run::DeviceLog log;
  for (int64_t rank = 0; rank < 8; ++rank) {
    run::Device device;
    device.rank = rank;
    device.name = "H200";
    run::Series series;
    series.metric = run::Metric::kGpuTemperature;
    const base::Random random(9, static_cast<uint64_t>(rank), "warming");
    const bool behind = rank % 2 == 1;
    for (int64_t i = 0; i < 600; ++i) {
      const double s = static_cast<double>(i);
      const double rise = 1 - std::exp(-s / (behind ? 70 : 60));
      double c =
          30 + 25 * (behind ? rear : 1) * rise + 0.5 * random.normal(static_cast<uint64_t>(i));
      if (rank == 3) c += slow_rank_rise_c * s / 600;
      series.samples.push_back({i * kSecond, std::round(c)});
    }
    device.series.push_back(series);
    log.devices.push_back(device);
  }
  return log;
}

// The rise of a row is no drift, nor is half of all GPUs beside the other half; a GPU that goes on
// to warm up where its row has come to rest drifts.
TEST(Anomalies, AWarmingRowDoesNotDrift) {
  for (const double rear : {1.2, 1.5, 1.7})
    EXPECT_TRUE(find_anomalies({}, warming_up(rear, 0)).deviations.empty()) << rear;
  const Anomalies found = find_anomalies({}, warming_up(1.5, 20));
  size_t drifts = 0;
  for (const PeerDeviation& d : found.deviations) {
    if (d.kind != PeerDeviation::Kind::kDrift) continue;
    ++drifts;
    EXPECT_EQ(d.rank, 3);
  }
  EXPECT_EQ(drifts, 1u);
}

// No air of another's carries clocks along: whose falls further than its peers' drifts.
TEST(Anomalies, AClockThatFallsFurtherDrifts) {
  run::DeviceLog log = warming_up(1, 0);
  for (run::Device& device : log.devices) {
    device.series[0].metric = run::Metric::kSmClock;
    for (run::Sample& sample : device.series[0].samples)
      sample.value = sample.time_ns < 300 * kSecond ? 1980 : device.rank == 3 ? 1840 : 1900;
  }
  const Anomalies found = find_anomalies({}, log);
  ASSERT_EQ(found.deviations.size(), 1u);
  EXPECT_EQ(found.deviations[0].kind, PeerDeviation::Kind::kDrift);
  EXPECT_EQ(found.deviations[0].rank, 3);
  EXPECT_NEAR(found.deviations[0].moved, -60, 1);
}

}  // namespace
}  // namespace ergometer::analysis
