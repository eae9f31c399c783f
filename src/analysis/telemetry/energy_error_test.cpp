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
  // unseen; a period of 0.1 s at the ends of 10 s.
  EXPECT_NEAR(error.unseen, std::sqrt(0.75 * 0.08 / 100 + 1e-4 / 6), 1e-4);
  EXPECT_NEAR(error.percent(), 164.485 * std::sqrt(0.025 * 0.025 + 1e-4 + 6.17e-4), 0.02);
  EXPECT_EQ(report.power.error.percent(), error.percent());
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
  MeterReport& meter = report.meters.emplace_back();
  meter.rank = 0;
  meter.sensor_error_pct = -3;
  state_errors(log, report);
  // 3 % and the meter's own 1.645 sqrt(0.01^2 + 0.005^2)
  EXPECT_NEAR(report.devices[0].error.percent(), std::hypot(3, 1.839), 0.01);
}

}  // namespace
}  // namespace ergometer::analysis
