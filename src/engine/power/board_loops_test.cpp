#include "engine/power/board_loops.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "engine/power/governed_step.h"

namespace ergometer::engine {
namespace {

constexpr size_t kGpus = 37;  // no whole number of vectors

std::vector<double> drawn(std::string_view what, double low, double high) {
  std::vector<double> values;
  for (uint64_t i = 0; i < kGpus; ++i)
    values.push_back(base::Random(3, i, what).uniform(0, low, high));
  return values;
}

// To the bit what one GPU after the other draws, below the knee, on the line and at the top.
TEST(BoardLoops, DrawAsEveryGpuAlone) {
  physics::GpuPower kind;
  kind.clocks = {100e6, 1000e6, 10e6};
  kind.voltage = {0.6, 400e6, 1000e6};
  kind.constant_w = 50;
  kind.constant_memory_w = 7;
  kind.active_w = 40;
  std::vector<double> clock_hz = drawn("clock", 100e6, 1000e6);
  clock_hz[1] = 400e6;
  clock_hz[2] = 1000e6;
  const std::vector<double> leakage_w = drawn("leakage", 0, 40), v = drawn("voltage", -0.02, 0.02),
                            core_w = drawn("core", 0, 500), memory_w = drawn("memory", 0, 90),
                            link_w = drawn("links", 0, 20);
  std::vector<double> watts(kGpus), of_core_w(kGpus), active_w(kGpus), heat_w(kGpus);
  board_loops::draw(kind,
                    {kGpus, clock_hz.data(), leakage_w.data(), v.data(), core_w.data(),
                     memory_w.data(), link_w.data()},
                    {watts.data(), of_core_w.data(), active_w.data(), heat_w.data()});
  for (size_t i = 0; i < kGpus; ++i) {
    const physics::Silicon silicon{.voltage = v[i]};
    const physics::Load load{core_w[i], memory_w[i], link_w[i]};
    const double volts = kind.relative_voltage(clock_hz[i], silicon);
    EXPECT_EQ(watts[i], kind.power_leaking(clock_hz[i], leakage_w[i], load, silicon));
    EXPECT_EQ(of_core_w[i], core_w[i] * volts * volts);
    EXPECT_EQ(active_w[i], 40 * volts * volts * clock_hz[i] / 1000e6);
    EXPECT_EQ(heat_w[i], 7 + memory_w[i]);
  }
}

// 0.5 s in which 0.3 s follow the clock: at 800 of 1000 MHz they take 0.375 s, and the other 0.1 s
// as long as before; at 400 MHz, below half of the highest clock, these take 0.125 s.
TEST(BoardLoops, CountByHand) {
  const std::vector<double> clock_hz = {800e6, 400e6}, clocked_s = {0.3, 0.3}, rest_s = {0.1, 0.1};
  std::vector<double> clock_sum = {0, 1e6}, work_s = {1, 0}, slowed_s = {2, 0};
  board_loops::count(0.5, 1000e6, 1000e6,
                     {2, clock_hz.data(), clocked_s.data(), rest_s.data(), clock_sum.data(),
                      work_s.data(), slowed_s.data()});
  EXPECT_DOUBLE_EQ(clock_sum[0], 400e6);
  EXPECT_DOUBLE_EQ(clock_sum[1], 201e6);
  EXPECT_DOUBLE_EQ(work_s[0], 1.3);
  EXPECT_DOUBLE_EQ(slowed_s[0], 2.375);
  EXPECT_DOUBLE_EQ(slowed_s[1], 0.75 + 0.025);
}

}  // namespace
}  // namespace ergometer::engine
