#include "physics/silicon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ergometer::physics {
namespace {

TEST(Silicon, SeedZeroIsNominal) {
  for (const Silicon& silicon : draw_silicon(0, 3)) {
    EXPECT_EQ(silicon.leakage, 1);
    EXPECT_EQ(silicon.voltage, 0);
    EXPECT_EQ(silicon.thermal_resistance, 1);
    EXPECT_EQ(silicon.sensor_gain, 1);
  }
}

TEST(Silicon, ALargerClusterHoldsTheSmaller) {
  const auto small = draw_silicon(7, 16), large = draw_silicon(7, 1024);
  for (size_t gpu = 0; gpu < small.size(); ++gpu) {
    EXPECT_EQ(small[gpu].leakage, large[gpu].leakage);
    EXPECT_EQ(small[gpu].voltage, large[gpu].voltage);
    EXPECT_EQ(small[gpu].thermal_resistance, large[gpu].thermal_resistance);
    EXPECT_EQ(small[gpu].sensor_gain, large[gpu].sensor_gain);
  }
  EXPECT_NE(draw_silicon(8, 1)[0].leakage, small[0].leakage);
}

TEST(Silicon, SpreadsAsToldAndIsCutAtThreeDeviations) {
  const auto gpus = draw_silicon(1, 100000);
  double log_leakage = 0, voltage = 0, resistance = 0, gain = 0, highest = 0;
  for (const Silicon& silicon : gpus) {
    log_leakage += std::log(silicon.leakage) * std::log(silicon.leakage);
    voltage += silicon.voltage * silicon.voltage;
    resistance += (silicon.thermal_resistance - 1) * (silicon.thermal_resistance - 1);
    gain += (silicon.sensor_gain - 1) * (silicon.sensor_gain - 1);
    highest = std::max(highest, std::abs(silicon.thermal_resistance - 1));
  }
  const auto n = static_cast<double>(gpus.size());
  EXPECT_NEAR(std::sqrt(log_leakage / n), 0.15, 0.0015);
  EXPECT_NEAR(std::sqrt(voltage / n), 0.015, 0.00015);
  EXPECT_NEAR(std::sqrt(resistance / n), 0.08, 0.001);
  EXPECT_NEAR(std::sqrt(gain / n), 0.025, 0.0003);
  EXPECT_LE(highest, 3 * 0.08 + 1e-12);
}

}  // namespace
}  // namespace ergometer::physics
