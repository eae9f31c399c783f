#include "run/sensor_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ergometer::run {
namespace {

Device named(const char* name, DeviceKind kind = DeviceKind::kGpu) {
  Device device;
  device.kind = kind;
  device.name = name;
  return device;
}

TEST(SensorError, WindowsByArchitecture) {
  const auto window = [](const char* name, const char* way) {
    return sensor_facts(named(name), way).window_s;
  };
  EXPECT_EQ(window("NVIDIA H100 80GB HBM3", "instant_power"), 0.025);
  EXPECT_EQ(window("NVIDIA H100 80GB HBM3", "instant_power_whole_beats"), 0.025);
  EXPECT_EQ(window("NVIDIA A100-SXM4-80GB", "power"), 0.025);  // of GA100 an instant reading
  EXPECT_EQ(window("NVIDIA A30", "power"), 0.025);
  EXPECT_EQ(window("NVIDIA A100-SXM4-80GB", "average_power"), 1);
  EXPECT_EQ(window("NVIDIA H100 80GB HBM3", "power"), 1);
  EXPECT_EQ(window("NVIDIA GH200 480GB", "instant_power"), 0.02);
  EXPECT_EQ(window("Tesla V100-SXM2-32GB", "power"), 0.01);
  EXPECT_EQ(window("NVIDIA A10", "power"), 1);
  EXPECT_EQ(window("NVIDIA A1000", "power"), 0);  // whole words
  EXPECT_EQ(window("nvidia h100", "power"), 1);
  EXPECT_EQ(window("H200-SXM5-141GB", "average_power"), 1);
  EXPECT_EQ(window("AMD Instinct MI300X", "power"), 0);  // not documented
}

TEST(SensorError, UnknownSensorsAreWide) {
  EXPECT_FALSE(sensor_facts(named("Gaudi 3"), "power").known);
  EXPECT_FALSE(sensor_facts(named(""), "power").known);
  EXPECT_FALSE(sensor_facts(named("a", DeviceKind::kPort), "power").known);
  EXPECT_TRUE(sensor_facts(named("Xeon", DeviceKind::kCpu), "counter").known);
  Device by_uuid = named("");
  by_uuid.uuid = "GPU-00000000-0000";
  EXPECT_TRUE(sensor_facts(by_uuid, "power").known);
  const auto one = [](const char* name) {
    const SensorFacts facts = sensor_facts(named(name), "counter");
    return EnergyError{facts.own, facts.common, 0, true, true}.percent();
  };
  // 1.645 sqrt(0.025^2 + 0.01^2), 1.645 sqrt(0.025^2 + 0.02^2), 1.645 x 0.05 sqrt(2)
  EXPECT_NEAR(one("NVIDIA H100"), 4.43, 0.005);
  EXPECT_NEAR(one("AMD MI300X"), 5.27, 0.005);
  EXPECT_NEAR(one("Gaudi 3"), 11.63, 0.005);
}

TEST(SensorError, WhatLooksLeaveUnseen) {
  const SensorFacts instant = sensor_facts(named("NVIDIA H100"), "instant_power"),
                    counter = sensor_facts(named("NVIDIA H100"), "counter"),
                    average = sensor_facts(named("NVIDIA H100"), "average_power");
  const Looks looks{.count = 100, .interval_s = 0.1, .scatter = 0.2, .duration_s = 10};
  EXPECT_NEAR(unseen(instant, looks), std::sqrt(0.75 * 0.04 / 100), 1e-12);
  EXPECT_NEAR(unseen(average, looks), 0, 1e-12);
  EXPECT_NEAR(unseen(counter, {.duration_s = 1, .counter_s = 0.1}), 0.1 / std::sqrt(6), 1e-12);
  // Read once a minute, it is a second old at most; of half a second all may be missing.
  EXPECT_NEAR(unseen(counter, {.duration_s = 600, .counter_s = 60}), 1.0 / 600 / std::sqrt(6),
              1e-12);
  EXPECT_NEAR(unseen(counter, {.duration_s = 0.5, .counter_s = 60}), 1 / std::sqrt(6), 1e-12);
  EXPECT_NEAR(unseen(instant, {.beat = 0.03}), 0.03, 1e-12);
}

TEST(SensorError, OfManyBoardsTheCommonPartStays) {
  const EnergyError one{0.025, 0.01, 0, true, true};
  const std::vector<MeasuredEnergy> eight(8, {100, one});
  const EnergyError sum = error_of_sum(eight);
  EXPECT_NEAR(sum.own, 0.025 / std::sqrt(8), 1e-12);
  EXPECT_NEAR(sum.common, 0.01, 1e-12);
  EXPECT_NEAR(sum.percent(), 2.2, 0.005);
  // 300 J at 2 % and 100 J at 6 %: sqrt(36 + 36) / 400
  EXPECT_NEAR(
      error_of_sum(std::vector<MeasuredEnergy>{{300, {0.02, 0, 0}}, {100, {0.06, 0, 0}}}).own,
      std::sqrt(72) / 400, 1e-12);
  EXPECT_FALSE(error_of_sum({}).stated);
}

TEST(SensorError, WhatLooksMissAllBoardsMiss) {
  const std::vector<MeasuredEnergy> two = {{300, {0, 0.01, 0.02, true, true}},
                                           {100, {0, 0.03, 0.06, false, true}}};
  const EnergyError sum = error_of_sum(two);
  EXPECT_NEAR(sum.unseen, (6.0 + 6.0) / 400, 1e-12);
  EXPECT_NEAR(sum.common, (3.0 + 3.0) / 400, 1e-12);
  EXPECT_FALSE(sum.known);
}

TEST(SensorError, ASumIsStatedWhereAllOfItIs) {
  const EnergyError stated{0.025, 0.01, 0, true, true}, none{.stated = false};
  EXPECT_TRUE(error_of_sum(std::vector<MeasuredEnergy>{{10, stated}, {0, none}}).stated);
  EXPECT_FALSE(error_of_sum(std::vector<MeasuredEnergy>{{10, stated}, {10, none}}).stated);
}

}  // namespace
}  // namespace ergometer::run
