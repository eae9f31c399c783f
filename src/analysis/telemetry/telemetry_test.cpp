#include "analysis/telemetry/telemetry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/telemetry/power_swings.h"
#include "analysis/trace/test_traces.h"
#include "run/run.h"

namespace ergometer::analysis {
namespace {

using run::Metric;
using Samples = std::vector<run::Sample>;

/// "0 5, 10 6": milliseconds and values.
Samples samples(std::initializer_list<std::pair<int64_t, double>> ms_and_values) {
  Samples result;
  for (const auto& [ms, value] : ms_and_values) result.push_back({ms * kMs, value});
  return result;
}

run::Device gpu(Metric metric, Samples s, int64_t rank = 0) {
  run::Device device;
  device.rank = rank;
  device.series.push_back({metric, false, std::move(s)});
  return device;
}

TEST(SensorUpdates, RepeatedReadingsAreOne) {
  // A sensor that updates every 20 ms, read every 10 ms.
  const SensorUpdates u = find_updates(samples(
      {{0, 5}, {10, 5}, {20, 6}, {30, 6}, {40, 7}, {50, 7}, {60, 8}, {70, 8}, {80, 9}, {90, 9}}));
  EXPECT_EQ(u.readings, 10);
  EXPECT_EQ(u.distinct, 5);
  EXPECT_EQ(u.unchanged, 0);
  EXPECT_DOUBLE_EQ(u.period_s, 0.02);
  EXPECT_DOUBLE_EQ(u.reading_interval_s, 0.01);
  EXPECT_EQ(u.points.size(), 6U);  // and the last reading
}

TEST(SensorUpdates, AReadingThatStandsTwiceIsOne) {
  Samples s;
  for (int64_t i = 0; i < 30; ++i) s.insert(s.end(), 2, {i * kSecond, static_cast<double>(i % 7)});
  const SensorUpdates u = find_updates(s);
  EXPECT_DOUBLE_EQ(u.reading_interval_s, 1);
  EXPECT_DOUBLE_EQ(u.period_s, 1);
}

/// Three scrapes without times, one behind the other: 500, 600 and 700 W.
TEST(Telemetry, SamplesWithoutATimeHaveAMeanAndNoSwings) {
  run::DeviceLog log;
  log.devices.push_back(gpu(Metric::kPower, samples({{0, 700}, {0, 500}, {0, 600}})));
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_DOUBLE_EQ(report.devices[0].mean_w, 600);
  EXPECT_DOUBLE_EQ(report.power.mean_w_per_gpu, 600);
  EXPECT_TRUE(report.devices[0].energies.empty());
  EXPECT_TRUE(power_swings(log).empty());
}

/// An epoch of 100 s and 50 kJ, two of its steps, and an evaluation of 10 s and 1 kJ behind it.
TEST(Telemetry, WindowsWithinOthersAreNotAddedToThem) {
  run::DeviceLog log;
  log.devices.emplace_back().windows = {{"step", 0, 10 * kSecond, 6000},
                                        {"epoch", 0, 100 * kSecond, 50000},
                                        {"step", 10 * kSecond, 10 * kSecond, 5000},
                                        {"evaluation", 100 * kSecond, 10 * kSecond, 1000}};
  const DeviceReport gpu = analyze_telemetry(log).devices[0];
  EXPECT_DOUBLE_EQ(gpu.energy_j, 51000);
  EXPECT_DOUBLE_EQ(gpu.mean_w, 51000.0 / 110);
  EXPECT_DOUBLE_EQ(gpu.peak_w, 600);
}

/// Steps that begin a nanosecond before the one before ends, as rounded times do.
TEST(Telemetry, WindowsThatOverlapALittleFollowEachOther) {
  run::DeviceLog log;
  run::Device& device = log.devices.emplace_back();
  for (int64_t i = 0; i < 4; ++i)
    device.windows.push_back({"step", i * 10 * kSecond - i, 10 * kSecond, 5000});
  EXPECT_DOUBLE_EQ(analyze_telemetry(log).devices[0].energy_j, 20000);
}

/// Two GPUs held by the power cap, two that do not tell: half of the GPUs is known of nothing.
TEST(Telemetry, SharesOfReasonsAreOfTheGpusThatTellThem) {
  run::DeviceLog log;
  for (int64_t rank = 0; rank < 4; ++rank) {
    log.devices.push_back(gpu(Metric::kPower, samples({{0, 300}, {1000, 300}}), rank));
    if (rank < 2)
      log.devices.back().series.push_back(
          {Metric::kEventReasons, false, samples({{0, 4}, {1000, 4}})});
  }
  const TelemetryReport report = analyze_telemetry(log);
  ASSERT_EQ(report.thermal.event_shares.size(), 1U);
  EXPECT_DOUBLE_EQ(report.thermal.event_shares[0].fraction, 1);
  EXPECT_DOUBLE_EQ(report.thermal.throttled_time_fraction.value_or(0), 1);
}

/// Idle at exactly 100 W for 60 of 100 updates, 500 W and a little more each time in the others.
TEST(SensorUpdates, APercentileCountsAValueAsLongAsItStood) {
  for (const int64_t step : {1, 5}) {  // read at every update, and five times within one
    Samples s;
    for (int64_t i = 0; i < 100 * step; ++i) {
      const int64_t update = i / step;
      s.push_back(
          {i * 100 * kMs / step, update < 60 ? 100.0 : 500 + static_cast<double>(update - 60)});
    }
    std::vector<StandingValue> values = standing_values(find_updates(s));
    EXPECT_EQ(percentile(values, 0.5), 100) << step;
    EXPECT_EQ(percentile(values, 0.05), 100) << step;
    EXPECT_NEAR(percentile(values, 0.95), 534, 1) << step;
  }
  std::vector<StandingValue> few = {{5, 4}, {7, 1}, {6, 1}};
  EXPECT_EQ(percentile(few, 0.5), 5);
  EXPECT_EQ(percentile(few, 0.7), 6);
  EXPECT_EQ(percentile(few, 1), 7);
}

TEST(SensorUpdates, AValueThatStandsIsNoRamp) {
  Samples s;
  for (int64_t ms = 0; ms < 100; ms += 10) s.push_back({ms * kMs, static_cast<double>(ms / 20)});
  for (int64_t ms = 100; ms < 1100; ms += 10) s.push_back({ms * kMs, 100});
  s.push_back({1100 * kMs, 0});
  const SensorUpdates u = find_updates(s);
  EXPECT_DOUBLE_EQ(u.period_s, 0.02);
  EXPECT_EQ(u.unchanged, 49);  // 1 s of 20 ms, the first of which changed
  // 0.1 s at about 2 W, 1 s at 100 W: a ramp over the second would give half.
  EXPECT_NEAR(energy_j(u.points, 0, 1100 * kMs), 100, 2);
}

TEST(Energy, TrapezoidsAndWhatIsBeyond) {
  const Samples s = samples({{0, 10}, {1000, 20}, {2000, 0}});
  EXPECT_DOUBLE_EQ(energy_j(s, 0, 2 * kSecond), 25);
  EXPECT_DOUBLE_EQ(energy_j(s, 500 * kMs, 1500 * kMs), 0.5 * 17.5 + 0.5 * 15);
  EXPECT_DOUBLE_EQ(energy_j(s, -kSecond, 0), 10);
  EXPECT_DOUBLE_EQ(energy_j(s, 0, 0), 0);
  EXPECT_DOUBLE_EQ(energy_j(samples({{0, 10}, {1000, 20}, {1000, 0}, {2000, 0}}), 0, 2 * kSecond),
                   15);
}

TEST(Energy, CountersThatBeginAnew) {
  const Samples s = samples({{0, 100}, {1000, 150}, {2000, 10}, {3000, 30}});
  EXPECT_DOUBLE_EQ(counted(s, 0, 3 * kSecond), 70);
  EXPECT_DOUBLE_EQ(counted(s, 0, 500 * kMs), 25);
}

TEST(Energy, WaysAndTheirDisagreement) {
  run::DeviceLog log;
  run::Device device = gpu(Metric::kEnergy, samples({{0, 0}, {1000, 100}, {2000, 200}}));
  device.series.push_back(
      {Metric::kAveragePower, false, samples({{0, 110}, {1000, 110}, {2000, 110}})});
  log.devices.push_back(device);
  const TelemetryReport report = analyze_telemetry(log);
  const DeviceReport& d = report.devices.at(0);
  EXPECT_EQ(d.energies.at(0).way, "counter");
  EXPECT_DOUBLE_EQ(d.energy_j, 200);
  EXPECT_DOUBLE_EQ(d.mean_w, 100);
  EXPECT_NEAR(d.disagreement_pct, 100 * 20 / 210.0, 1e-9);
  EXPECT_DOUBLE_EQ(report.power.gpu_energy_j, 200);
}

TEST(Throttling, SharesOfTime) {
  run::DeviceLog log;
  // Power cap for one second of four, heat for another, idle for the rest.
  log.devices.push_back(gpu(Metric::kEventReasons,
                            samples({{0, 0x1}, {1000, 0x4}, {2000, 0x20}, {3000, 1}, {4000, 0}})));
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_DOUBLE_EQ(*report.thermal.throttled_time_fraction, 0.5);
  EXPECT_DOUBLE_EQ(report.devices[0].reasons.at(0).fraction, 0.5);
  EXPECT_EQ(report.devices[0].reasons[0].reason, "gpu_idle");
  EXPECT_EQ(report.devices[0].reasons.at(2).reason, "sw_thermal_slowdown");
  EXPECT_DOUBLE_EQ(report.devices[0].reasons[2].fraction, 0.25);
}

TEST(Heat, SpreadWithinAHost) {
  run::DeviceLog log;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const double c = 60 + 5.0 * static_cast<double>(rank);
    log.devices.push_back(gpu(Metric::kGpuTemperature, samples({{0, c}, {1000, c}}), rank));
    log.devices.back().host = rank < 2 ? "a" : "b";
  }
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_DOUBLE_EQ(report.thermal.spread_c, 5);
  EXPECT_DOUBLE_EQ(report.thermal.mean_gpu_c, 67.5);
  EXPECT_DOUBLE_EQ(report.thermal.max_gpu_c, 75);
}

TEST(SimulatedRuns, AreLookedAtTheSameWay) {
  run::Run run;
  for (int64_t i = 0; i < 3; ++i) {
    run::Telemetry row;
    row.time_ns = i * kSecond;
    row.rank = 5;
    row.power_w = row.average_power_w = 100;
    row.gpu_c = 60;
    row.event_reasons = 0x4;
    run.telemetry.push_back(row);
  }
  const TelemetryReport report = analyze_telemetry(run::device_log(run));
  EXPECT_EQ(report.devices.at(0).rank, 5);
  EXPECT_DOUBLE_EQ(report.power.gpu_energy_j, 200);
  EXPECT_DOUBLE_EQ(*report.thermal.throttled_time_fraction, 1);
  EXPECT_FALSE(report.devices[0].memory_c);
}

TEST(Changes, AStepIsFoundAndNoiseIsNot) {
  Samples s;
  for (int64_t i = 0; i < 400; ++i)
    s.push_back({i * 100 * kMs, (i < 200 ? 100.0 : 300.0) + static_cast<double>(i * 7 % 5)});
  const auto changes = reading_changes(s, {.least_part = 0.1});
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(changes[0].time_ns) * 1e-9, 20, 0.2);
  EXPECT_NEAR(changes[0].before, 102, 1);
  EXPECT_NEAR(changes[0].after, 302, 1);
}

TEST(Training, NodeEnergyBetweenTheMarks) {
  run::DeviceLog log;
  run::Device node = gpu(Metric::kPower, samples({{0, 1000}, {2000, 3000}, {4000, 1000}}), -1);
  node.kind = run::DeviceKind::kNode;
  log.devices.push_back(node);
  run::TrainingLog training;
  training.phases = {{"run", kSecond, 3 * kSecond}};
  log.training.push_back(training);
  const TrainingReport report = analyze_telemetry(log).training.at(0);
  // 2000 to 3000 W in one second, and back.
  EXPECT_DOUBLE_EQ(report.node_energy_j, 5000);
  EXPECT_DOUBLE_EQ(report.mean_times_time_j, 6000);  // one reading lies between the marks
  EXPECT_DOUBLE_EQ(report.covered_fraction, 1);
}

Samples column(const std::string& file, size_t column) {
  std::ifstream in(ERGOMETER_SOURCE_DIR "/tests/data/a100-square-wave/" + file);
  std::string line;
  std::getline(in, line);
  Samples result;
  while (std::getline(in, line)) {
    std::stringstream cells(line);
    std::string cell;
    std::vector<double> values;
    while (std::getline(cells, cell, ',')) values.push_back(std::stod(cell));
    result.push_back({std::llround(values.at(0) * 1e9), values.at(column)});
  }
  return result;
}

/// A file says any number.
TEST(LoggedSteps, OfNumbersThatNobodyCountsTo) {
  constexpr int64_t kHuge = 4'000'000'000'000'000'000, kFirst = 1'700'000'000'000'000'000;
  run::TrainingLog training;
  training.steps = {
      {-2 * kHuge, 4, kFirst, 0}, {0, 4, kFirst + 1, 0}, {2 * kHuge, 4, kFirst + 2, 0}};
  const LoggedSteps logged = logged_steps(training);
  EXPECT_EQ(logged.steps_a_line, 1'000'000'000);
  EXPECT_EQ(logged.steps, 3'000'000'000);
  EXPECT_DOUBLE_EQ(logged.median_s, 4);
  EXPECT_EQ(logged.start_ns, 0) << "4e9 s before";
  EXPECT_EQ(logged.end_ns, 0);
}

/// An A100's sensor, which looks at 25 of each 100 ms, beside a meter, while the load switches
/// every 52 ms: readings wander through the load in a beat of 3.4 s.
TEST(Meter, WithinOnePercentOfTheA100s) {
  run::DeviceLog log;
  log.devices.push_back(gpu(Metric::kInstantPower, column("nvidia-smi.csv", 2)));
  run::Device meter = gpu(Metric::kPower, column("meter.csv", 1), -1);
  meter.kind = run::DeviceKind::kMeter;
  log.devices.push_back(meter);
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_EQ(report.devices[0].updates.distinct, 126);
  EXPECT_NEAR(report.devices[0].updates.period_s, 0.1012, 0.0005);
  const MeterReport& m = report.meters.at(0);
  EXPECT_NEAR(m.meter_energy_j, 1130, 2);
  EXPECT_NEAR(m.clock_offset_s, 0, 0.03);
  EXPECT_NEAR(m.gain, 0.966, 0.005);
  EXPECT_GT(m.sensor_error_pct, 1.0);
  EXPECT_LT(std::abs(m.corrected_error_pct), 1.0);
  ASSERT_EQ(report.devices[0].repeating.size(), 1U);
  EXPECT_NEAR(report.devices[0].repeating[0].beat_s, 3.37, 0.1);
}

TEST(Meter, AClockInAnotherZone) {
  run::DeviceLog log;
  Samples sensor, truth;
  for (int64_t i = 0; i < 100; ++i) sensor.push_back({i * 100 * kMs, 50.0 + (i > 50 ? 50 : 0)});
  for (int64_t i = 0; i < 1000; ++i)
    truth.push_back({(i * 10 - 3'600'000) * kMs, 100.0 + (i > 500 ? 100 : 0)});
  log.devices.push_back(gpu(Metric::kInstantPower, sensor));
  run::Device meter = gpu(Metric::kPower, truth, -1);
  meter.kind = run::DeviceKind::kMeter;
  log.devices.push_back(meter);
  const MeterReport m = compare_meters(log).at(0);
  EXPECT_NEAR(m.clock_offset_s, 3600, 0.2);
}

}  // namespace
}  // namespace ergometer::analysis
