#include "calibration/nvidia_device.h"

#include <gtest/gtest.h>

#include "calibration/device_record.h"
#include "calibration/device_work.h"

namespace ergometer::calibration {
namespace {

const NvidiaLibraries kFake = {{ERGOMETER_FAKE_NVML}, {ERGOMETER_FAKE_CUDA}, {ERGOMETER_FAKE_CUDA}};

TEST(NvidiaDevice, SaysWhatTheMachineLacks) {
  const auto none = open_nvidia_device(0, {{"libno-such-library.so.1"}, {}, {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(none.error().message,
            "this machine lacks libno-such-library.so.1: a GPU can only be measured where its "
            "driver is installed");
  const auto no_blas = open_nvidia_device(0, {kFake.nvml, kFake.cuda, {"liba.so", "libb.so"}});
  ASSERT_FALSE(no_blas);
  EXPECT_NE(no_blas.error().message.find("lacks liba.so, libb.so"), std::string::npos);
  const auto second = open_nvidia_device(1, kFake);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "NVML: GPU 1: Not Found");
}

TEST(NvidiaDevice, ReadsWhatTheDriverSays) {
  const auto device = open_nvidia_device(0, kFake);
  ASSERT_TRUE(device) << device.error().message;
  const DeviceLimits& limits = (*device)->limits();
  EXPECT_EQ(limits.name, "Fake GPU");
  EXPECT_EQ(limits.lowest_clock_hz, 345e6);
  EXPECT_EQ(limits.highest_clock_hz, 1980e6);
  EXPECT_EQ(limits.default_cap_w, 700);
  EXPECT_EQ(limits.lowest_cap_w, 200);
  const auto seen = (*device)->sample_at(0.01);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->instant_w, 700);
  EXPECT_EQ(seen->average_w, 650);  // this driver has no average: the only reading stands in
  EXPECT_EQ(seen->die_c, 41);
  EXPECT_EQ(seen->memory_c, 45);
  EXPECT_EQ(seen->reasons, 4u);
  EXPECT_GE(seen->time_s, 0.01);
}

TEST(NvidiaDevice, CarriesAPlanOutAndGivesSettingsBack) {
  const auto device = open_nvidia_device(0, kFake);
  ASSERT_TRUE(device);
  const std::vector<PlanPhase> plan = {
      {"matrix", 0.2, {DeviceWork::kMatrix, false}, 0, 400, 1200e6, 0.1},
      {"refused", 0.1, {}, 0, 200, 0, 0},
      {"copy", 0.2, {DeviceWork::kCopy, false}, 0, 0, 0, 0.1}};
  const auto found = record(**device, plan, 0.02, {});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->samples.size(), 20u);
  EXPECT_EQ(found->samples[5].seen.instant_w, 400);
  EXPECT_EQ(found->samples[5].seen.clock_hz, 1200e6);
  EXPECT_EQ(found->samples[15].seen.clock_hz, 1980e6);
  ASSERT_EQ(found->notes.size(), 1u);
  EXPECT_EQ(found->notes[0],
            "phase \"refused\" left out: NVML: set the power limit: Insufficient Permissions");
  // Two products of 2 x 8192^3 FLOP in every 2 ms or a little more.
  double flops = 0, bytes = 0;
  for (const RecordedSample& sample : found->samples) {
    flops += sample.seen.flops_per_s * 0.02;
    bytes += sample.seen.memory_bytes_per_s * 0.02;
  }
  EXPECT_GT(flops, 20 * 2 * kGemmSize * kGemmSize * kGemmSize);
  EXPECT_GT(bytes, 20 * 2 * 2 * kGemmSize * kGemmSize);
  EXPECT_EQ((*device)->sample_at(1)->instant_w, 700);
}

}  // namespace
}  // namespace ergometer::calibration
