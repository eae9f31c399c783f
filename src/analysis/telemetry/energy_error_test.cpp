#include "analysis/telemetry/energy_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/trace/test_traces.h"
#include "run/device_log.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// An H100 whose instant power is 400 and 600 W by turns, read as often as it updates.
run::Device h100(int64_t rank, const char* host = "a") {
  run::Device device;
  device.rank = device.index = rank;
  device.host = host;
  device.name = "NVIDIA H100 80GB HBM3";
  run::Series& series = device.series.emplace_back();
  series.metric = Metric::kInstantPower;
  for (int64_t i = 0; i <= 100; ++i)
    series.samples.push_back({i * 100 * kMs, i % 2 ? 600.0 : 400.0});
  return device;
}

TEST(EnergyErrors, OfAWindowThatSeesAQuarter) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0)};
  const TelemetryReport report = analyze_telemetry(log);
  const run::EnergyError& error = report.devices[0].error;
  ASSERT_TRUE(error.stated && error.known);
  // Neighbours differ by 200 W: scatter sqrt(200^2 / 2) of 500 W, of 100 looks three quarters
  // unseen.
  EXPECT_NEAR(error.unseen, std::sqrt(0.75 * 0.08 / 100), 1e-4);
  EXPECT_NEAR(error.percent(), 164.485 * std::sqrt(0.025 * 0.025 + 1e-4 + 6.0e-4), 0.02);
  EXPECT_EQ(report.power.error.percent(), error.percent());
}

// A quarter of the looks: twice as much unseen.
TEST(EnergyErrors, OfAPartOfTheTime) {
  const run::Device device = h100(0);
  const auto unseen = [&](double seconds_long) {
    return unseen_between_readings(device, {"instant_power", device.series[0].samples, 0.1},
                                   {0, std::llround(seconds_long * 1e9)}, seconds_long);
  };
  EXPECT_NEAR(unseen(10), std::sqrt(0.75 * 0.08 / 100), 1e-4);
  EXPECT_NEAR(unseen(2.5), std::sqrt(0.75 * 0.08 / 25), 1e-4);
  EXPECT_EQ(unseen_between_readings(device, {"instant_power", {}, 0.1}, {0, kSecond}, 1), 0);
}

// 500 W for 5 s, then 400 and 600 W by turns: each part is asked how much its own readings differ.
TEST(EnergyErrors, OfAPartThatIsSteadierThanTheRest) {
  run::Device device = h100(0);
  std::vector<run::Sample>& samples = device.series[0].samples;
  for (size_t i = 0; i < 50; ++i) samples[i].value = 500;
  const auto unseen = [&](int64_t from_ns, int64_t to_ns) {
    return unseen_between_readings(device, {"instant_power", samples, 0.1}, {from_ns, to_ns},
                                   static_cast<double>(to_ns - from_ns) * 1e-9);
  };
  EXPECT_EQ(unseen(0, 4 * kSecond), 0);
  EXPECT_NEAR(unseen(6 * kSecond, 10 * kSecond), std::sqrt(0.75 * 0.08 / 40), 1e-3);
  EXPECT_GT(unseen(0, 300 * kMs), 0) << "four readings are too few to say";
}

TEST(EnergyErrors, OfEnergyWindows) {
  run::DeviceLog log;
  log.source = "imported";
  log.devices = {h100(0)};
  EXPECT_FALSE(analyze_telemetry(log).devices[0].windows_error.stated);
  log.devices[0].windows.push_back({"step", 0, kSecond, 500});
  const run::EnergyError error = analyze_telemetry(log).devices[0].windows_error;
  // 1.645 sqrt(0.025^2 + 0.01^2); what readings did not see is not of it.
  EXPECT_TRUE(error.stated && error.known);
  EXPECT_NEAR(error.percent(), 4.429, 1e-3);
}

TEST(EnergyErrors, OfHostsAndTheJob) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0), h100(1), h100(0, "b"), h100(1, "b")};
  const TelemetryReport report = analyze_telemetry(log);
  ASSERT_EQ(report.hosts.size(), 2U);
  const run::EnergyError &one = report.devices[0].error, &host = report.hosts[0].error,
                         &job = report.power.error;
  EXPECT_NEAR(host.own, one.own / std::sqrt(2), 1e-12);
  EXPECT_NEAR(job.own, one.own / 2, 1e-12);
  EXPECT_NEAR(job.common, one.common, 1e-12);
  EXPECT_NEAR(job.unseen, one.unseen, 1e-12);  // what one look misses all miss
  EXPECT_NEAR(report.hosts[0].gpu_energy_j + report.hosts[1].gpu_energy_j,
              report.power.gpu_energy_j, 1e-6);
}

TEST(EnergyErrors, SimulatedPowerIsNotMeasured) {
  run::DeviceLog log;
  log.source = "simulated";
  log.devices = {h100(0)};
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_FALSE(report.devices[0].error.stated);
  EXPECT_FALSE(report.power.error.stated);
}

TEST(EnergyErrors, WhatAMeterSays) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0)};
  TelemetryReport report = analyze_telemetry(log);
  const double alone = report.devices[0].error.percent();
  MeterReport& meter = report.meters.emplace_back();
  meter.sensor_error_pct = -3;
  meter.common_s = 9.5;
  state_errors(log, report);
  // 3 % and the meter's own 1.645 sqrt(0.01^2 + 0.005^2); it shrinks in no sum.
  EXPECT_NEAR(report.devices[0].error.percent(), std::hypot(3, 1.839), 0.01);
  EXPECT_NEAR(report.devices[0].error.own, 0.01, 1e-12);
  meter.common_s = 5;  // of 10 s
  state_errors(log, report);
  EXPECT_EQ(report.devices[0].error.percent(), alone);
  meter.common_s = 9.5;
  meter.sensor_error_pct = INFINITY;
  state_errors(log, report);
  EXPECT_EQ(report.devices[0].error.percent(), alone);
}

TEST(EnergyErrors, AMeterSaysNothingOfACounterThatItWasNotComparedWith) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0)};
  run::Series& counter = log.devices[0].series.emplace_back();
  counter.metric = Metric::kEnergy;
  for (int64_t i = 0; i <= 100; ++i)
    counter.samples.push_back({i * 100 * kMs, 1000 + 50 * static_cast<double>(i)});
  TelemetryReport report = analyze_telemetry(log);
  ASSERT_EQ(report.devices[0].energies.front().way, "counter");
  const double alone = report.devices[0].error.percent();
  MeterReport& meter = report.meters.emplace_back();
  meter.sensor_error_pct = -10;  // of instant power
  meter.common_s = 10;
  state_errors(log, report);
  EXPECT_EQ(report.devices[0].error.percent(), alone);
}

TEST(EnergyErrors, AMeterThatSawNothingIsLeftOut) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0)};
  const double alone = analyze_telemetry(log).devices[0].error.percent();
  run::Device& meter = log.devices.emplace_back();
  meter.kind = run::DeviceKind::kMeter;
  meter.file = "meter.bin";
  run::Series& series = meter.series.emplace_back();
  series.metric = Metric::kPower;
  for (int64_t i = 0; i <= 100; ++i) series.samples.push_back({i * 100 * kMs, 0});
  const TelemetryReport report = analyze_telemetry(log);
  EXPECT_TRUE(report.meters.empty());
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_TRUE(report.notes[0].starts_with("meter.bin: measured no energy")) << report.notes[0];
  EXPECT_EQ(report.devices[0].error.percent(), alone);
}

TEST(EnergyErrors, AMeterOfOneOfTwoBoardsSaysNothing) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {h100(0), h100(1)};
  TelemetryReport report = analyze_telemetry(log);
  const double alone = report.devices[1].error.percent();
  for (int64_t rank = 0; rank < 2; ++rank) {
    MeterReport& meter = report.meters.emplace_back();
    meter.rank = rank;
    meter.sensor_error_pct = -3;
    meter.common_s = 10;
  }
  state_errors(log, report);
  EXPECT_EQ(report.devices[1].error.percent(), alone);
}

/// A counter that goes up by 50 J each 0.1 s for a second.
run::Device counter_on(const char* host) {
  run::Device device;
  device.host = host;
  device.name = "NVIDIA H100 80GB HBM3";
  run::Series& series = device.series.emplace_back();
  series.metric = Metric::kEnergy;
  for (int64_t i = 0; i <= 10; ++i)
    series.samples.push_back({i * 100 * kMs, 1000 + 50 * static_cast<double>(i)});
  return device;
}

TEST(EnergyErrors, OfACounterBetweenItsUpdates) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {counter_on("a"), counter_on("b")};
  const TelemetryReport report = analyze_telemetry(log);
  // 0.1 s of 1 s: sqrt(0.1^2 / 6)
  EXPECT_NEAR(report.devices[0].error.unseen, 0.0408, 1e-4);
  EXPECT_NEAR(report.power.gpu_energy_j, 1000, 1e-6);
  EXPECT_TRUE(report.power.error.stated);
  EXPECT_NEAR(report.power.error.own, 0.025 / std::sqrt(2), 1e-12);
  EXPECT_EQ(report.hosts.size(), 2U);
}

TEST(EnergyErrors, OfHostsThatKnowEnergyInOtherWays) {
  run::DeviceLog log;
  log.source = "recorded";
  log.devices = {counter_on("a"), h100(0, "b")};
  const TelemetryReport report = analyze_telemetry(log);
  ASSERT_EQ(report.hosts.size(), 2U);
  EXPECT_NEAR(report.hosts[0].gpu_energy_j + report.hosts[1].gpu_energy_j,
              report.power.gpu_energy_j, 1e-6);
  // 500 J and 5000 J, but 500 W each.
  EXPECT_NEAR(report.power.error.own, 0.025 * std::hypot(500, 5000) / 5500, 1e-5);
  EXPECT_NEAR(report.power.mean_error.own, 0.025 / std::sqrt(2), 1e-5);
}

}  // namespace
}  // namespace ergometer::analysis
