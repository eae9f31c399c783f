#include "engine/views/telemetry_bands.h"

#include <gtest/gtest.h>

namespace ergometer::engine {
namespace {

/// Two kept nodes of two GPUs, the second standing for nine; the last GPU has no rank.
Fleet small_fleet() {
  Fleet fleet;
  fleet.nodes = 2;
  fleet.gpus_per_node = 2;
  fleet.weight = {1, 9};
  fleet.role = {0, 0, 1, -1};
  fleet.silicon.resize(4);
  return fleet;
}

// 100 W and 200 W once, 300 W nine times: of 11 GPUs the 5th percentile is the first, the median
// and the 95th the third.
TEST(TelemetryBands, WeighNodesThatAreKeptOnce) {
  const Fleet fleet = small_fleet();
  std::vector<run::Telemetry> readings;
  const double watts[] = {100, 200, 300, 9999}, clock_mhz[] = {1000, 2000, 1500, 0},
               warm[] = {40, 50, 45, 99};
  for (int i = 0; i < 4; ++i)
    readings.push_back({.time_ns = 250'000'000,
                        .power_w = watts[i],
                        .gpu_c = warm[i],
                        .memory_c = warm[i],
                        .sm_clock_mhz = clock_mhz[i]});
  const std::vector<size_t> gpus = {0, 1, 2, 3};
  std::vector<run::TelemetryBand> bands;
  add_bands(readings, gpus, fleet, bands);
  ASSERT_EQ(bands.size(), 4u);
  EXPECT_EQ(bands[0].metric, run::Metric::kInstantPower);
  EXPECT_EQ(bands[0].time_ns, 250'000'000);
  EXPECT_EQ(bands[0].lowest, 100);
  EXPECT_EQ(bands[0].p5, 100);
  EXPECT_EQ(bands[0].p50, 300);
  EXPECT_EQ(bands[0].p95, 300);
  EXPECT_EQ(bands[0].highest, 300);
  EXPECT_EQ(bands[1].lowest, 40);
  EXPECT_EQ(bands[3].p50, 1500);  // MHz
  EXPECT_EQ(bands[3].highest, 2000);
}

TEST(TelemetryBands, StandByMetricThenTime) {
  std::vector<run::TelemetryBand> bands(3);
  bands[0].metric = run::Metric::kSmClock;
  bands[1].time_ns = 9;
  bands[2].time_ns = 4;
  sort_bands(bands);
  EXPECT_EQ(bands[0].time_ns, 4);
  EXPECT_EQ(bands[1].time_ns, 9);
  EXPECT_EQ(bands[2].metric, run::Metric::kSmClock);
}

}  // namespace
}  // namespace ergometer::engine
