#include "physics/sensor.h"

#include <gtest/gtest.h>

#include <string>

#include "spec/catalog/read.h"

namespace ergometer::physics {
namespace {

GpuPower power_of(const std::string& cluster) {
  const auto read = spec::read_cluster(cluster);
  const auto power = gpu_power(read->node.gpu);
  EXPECT_TRUE(power) << cluster;
  return *power;
}

/// 100 W until 0.24 s, then 500 W. Readings every 0.1 s of the last 0.1 s: the one at 0.3 s has
/// seen 40 ms of the old and 60 ms of the new power, (0.04 x 100 + 0.06 x 500) / 0.1 = 340 W.
TEST(PowerSensor, MeansOverItsWindow) {
  const PowerPiece series[] = {{0, 100}, {0.24, 500}};
  const auto readings = read_sensor({}, series, 0.45);
  ASSERT_EQ(readings.size(), 5u);
  const double expected[] = {100, 100, 100, 340, 500};
  for (size_t k = 0; k < readings.size(); ++k) {
    EXPECT_NEAR(readings[k].time_s, 0.1 * static_cast<double>(k), 1e-12);
    EXPECT_NEAR(readings[k].watts, expected[k], 1e-9);
  }
}

/// A100 and H100: 25 ms in every 100 ms. A burst of 50 ms that ends 30 ms before the reading is
/// not seen at all by the instant reading, and is 5 % of the one-second average.
TEST(PowerSensor, MissesThreeQuartersOfTheTime) {
  const PowerPiece series[] = {{0, 100}, {1.92, 700}, {1.97, 100}};
  const GpuPower gpu = power_of("hgx-h100");
  const auto instant = read_sensor(instant_sensor(gpu), series, 2.05);
  const auto average = read_sensor(average_sensor(gpu), series, 2.05);
  ASSERT_EQ(instant.size(), 21u);
  EXPECT_NEAR(instant.back().watts, 100, 1e-9);
  EXPECT_NEAR(average.back().watts, 100 + 0.05 * 600, 1e-9);
}

TEST(PowerSensor, GainOffsetPhaseAndRounding) {
  PowerSensor sensor;
  sensor.gain = 1.03;
  sensor.offset_w = 2;
  sensor.phase_s = 0.04;
  sensor.quantum_w = 1;
  const PowerPiece series[] = {{10, 251}};
  const auto readings = read_sensor(sensor, series, 10.2);
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_NEAR(readings[0].time_s, 10.04, 1e-12);
  EXPECT_EQ(readings[0].watts, 261);  // 1.03 x 251 + 2 = 260.53
  EXPECT_TRUE(read_sensor(sensor, {}, 10).empty());
}

/// docs/models/sensor.md.
TEST(PowerSensor, IsTheCatalogs) {
  const GpuPower volta = power_of("dgx1-v100"), ampere = power_of("hgx-a100-80gb"),
                 cdna = power_of("mi300x");
  EXPECT_EQ(instant_sensor(volta).period_s, 0.02);
  EXPECT_EQ(instant_sensor(volta).window_s, 0.01);
  EXPECT_EQ(average_sensor(volta).window_s, 0.01);
  EXPECT_EQ(instant_sensor(ampere).window_s, 0.025);
  EXPECT_EQ(average_sensor(ampere).window_s, 1);
  EXPECT_EQ(instant_sensor(cdna).window_s, 1);
}

TEST(PowerSensor, IsKnownWholeOrNotAtAll) {
  spec::Gpu gpu = spec::read_cluster("hgx-h100")->node.gpu;
  base::ParameterSet known;
  for (const auto& [name, parameter] : gpu.parameters.all())
    if (name != "power.reading_instant") known.set(name, parameter);
  gpu.parameters = known;
  const auto power = gpu_power(gpu);
  ASSERT_FALSE(power);
  EXPECT_NE(power.error().message.find("parameter power.reading_instant is missing"),
            std::string::npos);
  base::ParameterSet none;
  for (const auto& [name, parameter] : known.all())
    if (!name.starts_with("power.reading_")) none.set(name, parameter);
  gpu.parameters = none;
  EXPECT_EQ(gpu_power(gpu)->reading_period_s, 0);
}

TEST(TemperatureSensor, ReportsWholeDegrees) {
  EXPECT_EQ(reported_c(71.99), 71);
  EXPECT_EQ(reported_c(72), 72);
  EXPECT_EQ(reported_c(-0.5), -1);
}

}  // namespace
}  // namespace ergometer::physics
