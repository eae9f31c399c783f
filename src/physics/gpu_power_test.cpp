#include "physics/gpu_power.h"

#include <gtest/gtest.h>

namespace ergometer::physics {
namespace {

// A GPU easy to do sums with: 1000 MHz at relative voltage 1, 0.6 up to 400 MHz.
GpuPower small_gpu() {
  GpuPower gpu;
  gpu.clocks = {100e6, 1000e6, 10e6};
  gpu.voltage = {0.6, 400e6, 1000e6};
  gpu.constant_w = 50;
  gpu.constant_memory_w = 30;
  gpu.leakage_w = 20;
  gpu.leakage_c = 60;
  gpu.active_w = 40;
  gpu.cap_w = 300;
  return gpu;
}

TEST(VoltageCurve, IsFlatThenStraight) {
  const VoltageCurve curve{0.6, 400e6, 1000e6};
  EXPECT_DOUBLE_EQ(curve.at(100e6), 0.6);
  EXPECT_DOUBLE_EQ(curve.at(400e6), 0.6);
  EXPECT_DOUBLE_EQ(curve.at(700e6), 0.8);
  EXPECT_DOUBLE_EQ(curve.at(1000e6), 1);
  EXPECT_DOUBLE_EQ(curve.at(1200e6), 1);
}

TEST(ClockLattice, RoundsDown) {
  const ClockLattice a100{210e6, 1410e6, 15e6};
  EXPECT_DOUBLE_EQ(a100.floor(1410e6), 1410e6);
  EXPECT_DOUBLE_EQ(a100.floor(1409e6), 1395e6);
  EXPECT_DOUBLE_EQ(a100.floor(1395e6), 1395e6);
  EXPECT_DOUBLE_EQ(a100.floor(100e6), 210e6);
  EXPECT_DOUBLE_EQ(a100.floor(2000e6), 1410e6);
  const ClockLattice b200{120e6, 1965e6, 7.5e6};
  EXPECT_DOUBLE_EQ(b200.floor(1000e6), 997.5e6);  // 120 + 117 x 7.5
}

TEST(GpuPower, LeakageStopsGrowingWhereTheChipTurnsOff) {
  GpuPower gpu = small_gpu();
  gpu.leakage_per_k = 0.01;
  gpu.shutdown_c = 100;
  EXPECT_NEAR(gpu.leakage_at(80, {}), 20 * 1.2214027581601699, 1e-12);   // e^0.2
  EXPECT_NEAR(gpu.leakage_at(1e6, {}), 20 * 1.4918246976412703, 1e-12);  // e^0.4, as at 100 C
  gpu.shutdown_c = 0;
  EXPECT_NEAR(gpu.leakage_at(1e6, {}), 20 * 2.45960311115695, 1e-12);  // e^0.9, as at 150 C
}

TEST(GpuPower, AddsItsParts) {
  const GpuPower gpu = small_gpu();
  const Load load{100, 30, 10, true};
  // At 1000 MHz: 50 + 20 + 40 + 100 + 30 + 10.
  EXPECT_DOUBLE_EQ(gpu.power_w(1000e6, 60, load, {}), 250);
  // At 700 MHz, v = 0.8: 50 + 16 + 40 x 0.64 x 0.7 + 64 + 40 = 187.92.
  EXPECT_NEAR(gpu.power_w(700e6, 60, load, {}), 187.92, 1e-9);
  // Below the knee, v = 0.6, nothing resident: 50 + 12 + 36 + 40.
  EXPECT_NEAR(gpu.power_w(200e6, 60, {100, 30, 10, false}, {}), 138, 1e-9);
  EXPECT_DOUBLE_EQ(gpu.memory_heat_w(load), 60);
}

TEST(GpuPower, LeakageGrowsWithHeat) {
  GpuPower gpu = small_gpu();
  gpu.leakage_per_k = 0.01;
  // 20 W exp(0.2) = 24.428 W at 80 C; a leaky one of 1.5 times: 36.642 W.
  EXPECT_NEAR(gpu.power_w(1000e6, 80, {0, 0, 0, false}, {}), 74.428, 1e-3);
  Silicon leaky;
  leaky.leakage = 1.5;
  EXPECT_NEAR(gpu.power_w(1000e6, 80, {0, 0, 0, false}, leaky), 86.642, 1e-3);
}

TEST(GpuPower, SiliconMovesTheVoltage) {
  Silicon silicon;
  silicon.voltage = 0.1;
  // 50 + 20 x 1.1 + (40 + 100) x 1.21 = 241.4.
  EXPECT_NEAR(small_gpu().power_w(1000e6, 60, {100, 0, 0, true}, silicon), 241.4, 1e-9);
}

spec::Gpu catalog_gpu() {
  spec::Gpu gpu;
  gpu.name = "Small";
  gpu.entry = "small-1gb";
  gpu.power = "small";
  const auto set = [&](const char* name, double value) {
    gpu.parameters.set(name, {value, "", "test", base::Grade::kAssumed});
  };
  set("clock_min", 100e6);
  set("clock_max", 1000e6);
  set("clock_step", 10e6);
  set("tdp", 300);
  set("power.constant", 50);
  set("power.constant_memory", 30);
  set("power.leakage", 20);
  set("power.leakage_temperature", 60);
  set("power.leakage_per_k", 0.01);
  set("power.active", 40);
  set("power.voltage_min", 0.6);
  set("power.voltage_knee", 0.4);
  set("power.excursion", 1.5);
  set("power.tensor_fp16", 0.5e-12);
  set("power.vector", 5e-12);
  set("power.cache", 39e-12);
  set("power.memory", 93e-12);
  set("power.link", 40e-12);
  set("power.data_share", 0.3);
  set("power.reading_period", 0.1);
  set("power.reading_instant", 0.025);
  set("power.reading_average", 1);
  return gpu;
}

TEST(GpuPower, ReadsTheCatalog) {
  const auto power = gpu_power(catalog_gpu());
  ASSERT_TRUE(power);
  EXPECT_DOUBLE_EQ(power->voltage.knee_hz, 400e6);
  EXPECT_DOUBLE_EQ(power->cap_w, 300);
  EXPECT_DOUBLE_EQ(power->highest_cap_w, 300);  // no range given: the default cap
  EXPECT_DOUBLE_EQ(power->power_w(1000e6, 60, {100, 0, 0, true}, {}), 210);
  const auto energy = energy_per_work(catalog_gpu());
  ASSERT_TRUE(energy);
  EXPECT_DOUBLE_EQ(energy->tensor_fp32, 1e-12);   // not given: twice that of 16 bit
  EXPECT_DOUBLE_EQ(energy->tensor_fp4, 0.5e-12);  // no such units: as 16 bit
}

TEST(GpuPower, NamesWhatIsMissing) {
  spec::Gpu gpu = catalog_gpu();
  gpu.parameters = {};
  gpu.parameters.set("clock_min", {100e6, "Hz", "test", base::Grade::kAssumed});
  EXPECT_EQ(gpu_power(gpu).error().message,
            "GPU Small (catalog/gpus/small-1gb.yaml): parameter clock_max is missing, power needs "
            "it");
  EXPECT_EQ(energy_per_work(gpu).error().message,
            "GPU Small (catalog/power/small.yaml): parameter power.tensor_fp16 is missing, power "
            "needs it");
  gpu.power = gpu.entry = "";
  EXPECT_EQ(energy_per_work(gpu).error().message,
            "GPU Small (written inline): parameter power.tensor_fp16 is missing, power needs it; "
            "name a power entry, as in `power: h100`");
}

}  // namespace
}  // namespace ergometer::physics
