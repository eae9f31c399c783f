#include "watch/snapshot_now.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace ergometer::watch
