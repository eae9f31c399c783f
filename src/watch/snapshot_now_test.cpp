#include "watch/snapshot_now.h"

#include <gtest/gtest.h>

#include <array>

namespace ergometer::watch {
namespace {

TEST(SnapshotNow, HasWhatIsLatestAndEachStepOnce) {
  record::Snapshot snapshot;
  run::Device gpu;
  gpu.host = "node1";
  gpu.index = 2;
  const size_t number = snapshot.add_device(gpu);
  snapshot.set(number, run::Metric::kPower, {7, 612});
  snapshot.add_step({1, 2.5, 0, 0});
  SnapshotNow watched(snapshot);
  const JobNow now = watched.look(11);
  EXPECT_EQ(now.time_ns, 11);
  ASSERT_EQ(now.devices.size(), 1U);
  EXPECT_EQ(now.devices[0].label(), "node1 gpu 2");
  EXPECT_EQ(now.devices[0].power_w(), 612);
  EXPECT_FALSE(now.devices[0].of(run::Metric::kSmClock));
  ASSERT_EQ(now.steps.size(), 1U);
  EXPECT_EQ(now.steps[0].seconds, 2.5);
  snapshot.add_step({2, 2.25, 0, 0});
  const JobNow next = watched.look(12);
  ASSERT_EQ(next.steps.size(), 1U);
  EXPECT_EQ(next.steps[0].number, 2);
}

TEST(SnapshotNow, ADeviceThatTellsNothingHasNoReadings) {
  record::Snapshot snapshot;
  for (int64_t i = 0; i < 2; ++i) {
    run::Device gpu;
    gpu.index = i;
    snapshot.set(snapshot.add_device(gpu), run::Metric::kPower, {7, 612});
  }
  SnapshotNow watched(snapshot);
  const int64_t set_ns = snapshot.look()[0].set_ns[static_cast<size_t>(run::Metric::kPower)];
  EXPECT_EQ(watched.look(set_ns + kDeviceSilentNs).devices[0].power_w(), 612);
  const JobNow now = watched.look(set_ns + kDeviceSilentNs + 1);
  ASSERT_EQ(now.devices.size(), 2U);
  EXPECT_EQ(now.devices[0].power_w(), std::nullopt);
}

TEST(DeviceNow, IsAsHotAsItsHottestPlaceWhereNothingReadsItsEdge) {
  constexpr auto kMetrics = static_cast<size_t>(run::Metric::kCount);
  std::array<double, kMetrics> values{};
  std::array<int64_t, kMetrics> times_ns{};
  DeviceNow gpu;
  gpu.values = values;
  gpu.times_ns = times_ns;
  EXPECT_EQ(gpu.temperature_c(), std::nullopt);
  const auto set = [&](run::Metric metric, double celsius) {
    values[static_cast<size_t>(metric)] = celsius;
    times_ns[static_cast<size_t>(metric)] = 1;
  };
  set(run::Metric::kHotspotTemperature, 71);
  EXPECT_EQ(gpu.temperature_c(), 71);
  set(run::Metric::kGpuTemperature, 60);
  EXPECT_EQ(gpu.temperature_c(), 60);
}

}  // namespace
}  // namespace ergometer::watch
