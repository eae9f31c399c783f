#include "physics/governor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace ergometer::physics {
namespace {

GpuPower governed_gpu() {
  GpuPower gpu;
  gpu.clocks = {100e6, 1000e6, 10e6};
  gpu.voltage = {0.6, 400e6, 1000e6};
  gpu.constant_w = 50;
  gpu.leakage_w = 20;
  gpu.active_w = 40;
  gpu.cap_w = 300;
  gpu.target_c = 85;
  gpu.slowdown_c = 90;
  gpu.shutdown_c = 95;
  gpu.memory_limit_c = 95;
  return gpu;
}

ClockDecision decide(const GpuPower& gpu, const ClockLimits& limits, const Load& load,
                     const Response& response = {}, double thermal_hz = 0) {
  return decide_clock(gpu, {}, limits, 60, load, response, thermal_hz);
}

TEST(Governor, RunsAtTheTopWhenNothingLimits) {
  const ClockDecision decision = decide(governed_gpu(), {300}, {100, 30, 10, true});
  EXPECT_DOUBLE_EQ(decision.clock_hz, 1000e6);
  EXPECT_EQ(decision.reasons, 0u);
}

TEST(Governor, ClockEqualsTheLock) {
  const ClockDecision decision = decide(governed_gpu(), {300, 755e6}, {100, 30, 10, true});
  EXPECT_DOUBLE_EQ(decision.clock_hz, 750e6);  // the lattice clock below
  EXPECT_EQ(decision.reasons, kApplicationsClocksSetting);
  EXPECT_DOUBLE_EQ(decide(governed_gpu(), {300, 5e9}, {}).clock_hz, 1000e6);
}

// Work that follows the clock, found at 1000 MHz: power goes with v^2 f. At 700 MHz, v = 0.8:
// 50 + 16 + (40 + 200) x 0.64 x 0.7 = 173.52 W; at 710 MHz, v = 0.8066667: 177.01 W.
TEST(Governor, HoldsTheCapByHand) {
  const Load load{200, 0, 0, true};
  const Response clocked{1, 1000e6};
  EXPECT_DOUBLE_EQ(decide(governed_gpu(), {173.6}, load, clocked).clock_hz, 700e6);
  EXPECT_DOUBLE_EQ(decide(governed_gpu(), {176.9}, load, clocked).clock_hz, 700e6);
  EXPECT_DOUBLE_EQ(decide(governed_gpu(), {177.1}, load, clocked).clock_hz, 710e6);
  EXPECT_EQ(decide(governed_gpu(), {177.1}, load, clocked).reasons, kSwPowerCap);
}

// A board that holds 98 % of its limit: 180.7 W are 177.09, enough for 710 MHz; 180.5 W are not.
TEST(Governor, HoldsWhatBoardsHoldOfTheCap) {
  GpuPower gpu = governed_gpu();
  gpu.held = 0.98;
  const Load load{200, 0, 0, true};
  EXPECT_DOUBLE_EQ(decide(gpu, {180.7}, load, {1, 1000e6}).clock_hz, 710e6);
  EXPECT_DOUBLE_EQ(decide(gpu, {180.5}, load, {1, 1000e6}).clock_hz, 700e6);
}

TEST(Governor, CapOutOfReachIsTheLowestClock) {
  const ClockDecision decision = decide(governed_gpu(), {40}, {200, 0, 0, true}, {1, 1000e6});
  EXPECT_DOUBLE_EQ(decision.clock_hz, 100e6);
  EXPECT_EQ(decision.reasons, kSwPowerCap);
}

TEST(Governor, BrakeIsTheLowestClock) {
  const ClockDecision decision = decide(governed_gpu(), {300, 0, true}, {});
  EXPECT_DOUBLE_EQ(decision.clock_hz, 100e6);
  EXPECT_EQ(decision.reasons, kHwSlowdown | kHwPowerBrake);
}

TEST(Governor, NamesWhatBinds) {
  const Load load{200, 0, 0, true};
  const Response clocked{1, 1000e6};
  const ClockDecision thermal = decide(governed_gpu(), {300, 900e6}, load, clocked, 805e6);
  EXPECT_DOUBLE_EQ(thermal.clock_hz, 800e6);
  EXPECT_EQ(thermal.reasons, kSwThermalSlowdown);
  const ClockDecision power = decide(governed_gpu(), {177.1, 900e6}, load, clocked, 805e6);
  EXPECT_DOUBLE_EQ(power.clock_hz, 710e6);
  EXPECT_EQ(power.reasons, kSwPowerCap);
}

// Same power at 1000 MHz; what waits for memory stretches less and so needs the lower clock.
TEST(Governor, WorkThatIgnoresTheClockIsCutDeeper) {
  const Load load{200, 0, 0, true};
  EXPECT_LT(decide(governed_gpu(), {200}, load, {0, 1000e6}).clock_hz,
            decide(governed_gpu(), {200}, load, {1, 1000e6}).clock_hz);
}

TEST(Governor, LoadStretchesWithTheClock) {
  const Load slow = load_at({100, 30, 10, true}, {0.5, 1000e6}, 500e6);
  EXPECT_DOUBLE_EQ(slow.core_w, 100 / 1.5);  // 0.5 + 0.5 x 1000/500
  EXPECT_DOUBLE_EQ(slow.memory_w, 20);
}

// The decision against the definition: within the cap, and one lattice step more is not.
TEST(Governor, IsTheHighestClockWithinTheCap) {
  const GpuPower base_gpu = governed_gpu();
  for (uint64_t i = 0; i < 20000; ++i) {
    const base::Random random(1, i, "governor");
    GpuPower gpu = base_gpu;
    gpu.leakage_per_k = random.uniform(0, 0, 0.02);
    gpu.voltage.lowest = random.uniform(1, 0.4, 1);
    gpu.voltage.knee_hz = random.uniform(2, 100e6, 999e6);
    const Silicon silicon{random.uniform(3, 0.7, 1.4), random.uniform(4, -0.03, 0.03), 1, 1};
    const double die_c = random.uniform(5, 20, 95);
    const Load load{random.uniform(6, 0, 500), random.uniform(7, 0, 200), random.uniform(8, 0, 40),
                    random.uniform(9) < 0.9};
    const Response response{random.uniform(10), random.uniform(11, 100e6, 1000e6)};
    const ClockLimits limits{random.uniform(12, 100, 400),
                             random.uniform(13) < 0.3 ? random.uniform(14, 100e6, 1000e6) : 0};
    const ClockDecision decision = decide_clock(gpu, silicon, limits, die_c, load, response, 0);
    const auto power = [&](double clock_hz) {
      return gpu.power_w(clock_hz, die_c, load_at(load, response, clock_hz), silicon);
    };
    const double ceiling = limits.lock_hz > 0 ? gpu.clocks.floor(limits.lock_hz) : 1000e6;
    ASSERT_LE(decision.clock_hz, ceiling);
    if (decision.clock_hz > gpu.clocks.lowest_hz) {
      ASSERT_LE(power(decision.clock_hz), limits.cap_w + 1e-9);
    }
    if (decision.clock_hz < ceiling) {
      ASSERT_GT(power(decision.clock_hz + gpu.clocks.step_hz), limits.cap_w - 1e-9) << i;
    }
    ASSERT_EQ((decision.reasons & kSwPowerCap) != 0, power(ceiling) > limits.cap_w);
  }
}

// Work that follows no clock is given one all the same: it changes no answer.
TEST(Governor, WhereTheSearchBeginsChangesNoAnswer) {
  const GpuPower gpu = governed_gpu();
  for (uint64_t i = 0; i < 2000; ++i) {
    const base::Random random(1, i, "near");
    const Load load{random.uniform(0, 0, 500), random.uniform(1, 0, 200), 10, true};
    const ClockLimits limits{random.uniform(4, 60, 400),
                             random.uniform(5) < 0.3 ? random.uniform(6, 100e6, 1000e6) : 0};
    const auto answer = [&](double near_hz) {
      return decide_clock_leaking(gpu, {}, limits, 20, load, {0, near_hz}, 0);
    };
    const ClockDecision from_above = answer(0);
    for (const double near_hz : {1e6, 100e6, 355e6, 400e6, 730e6, 1000e6, 3000e6}) {
      ASSERT_EQ(answer(near_hz).clock_hz, from_above.clock_hz) << i << ", " << near_hz;
      ASSERT_EQ(answer(near_hz).reasons, from_above.reasons) << i << ", " << near_hz;
    }
  }
}

// Many GPUs at once: each has the clock that it is given alone, and nearly all are found.
TEST(Governor, DecidesForManyAsForOne) {
  const GpuPower gpu = governed_gpu();
  std::vector<double> leakage_w, voltage, cap_w, core_w, steady_w, share, at_hz, ceiling_hz;
  std::vector<ClockLimits> limits;
  for (uint64_t i = 0; i < Governed::kMost; ++i) {
    const base::Random random(8, i, "many decisions");
    leakage_w.push_back(random.uniform(0, 0, 40));
    voltage.push_back(random.uniform(1, -0.02, 0.02));
    cap_w.push_back(random.uniform(2, 100, 400));
    core_w.push_back(random.uniform(3, 0, 500));
    steady_w.push_back(random.uniform(4, 0, 100));
    share.push_back(i % 4 == 0 ? 0 : random.uniform(5));
    at_hz.push_back(random.uniform(6, 100e6, 1000e6));
    limits.push_back({.cap_w = cap_w.back(),
                      .lock_hz = i % 3 == 0 ? random.uniform(7, 50e6, 1100e6) : 0,
                      .brake = false});
    ceiling_hz.push_back(limits.back().ceiling_hz(gpu.clocks));
  }
  std::vector<double> clock_hz(Governed::kMost);
  decide_each(gpu,
              {Governed::kMost, leakage_w.data(), voltage.data(), cap_w.data(), core_w.data(),
               steady_w.data(), share.data(), at_hz.data(), ceiling_hz.data()},
              clock_hz.data());
  size_t found = 0, locked = 0;
  for (size_t i = 0; i < clock_hz.size(); ++i) {
    const Silicon silicon{.voltage = voltage[i]};
    const ClockDecision alone =
        decide_clock_leaking(gpu, silicon, limits[i], leakage_w[i], {core_w[i], steady_w[i], 0},
                             {share[i], at_hz[i]}, 0);
    if (clock_hz[i] == 0) continue;
    ++found;
    EXPECT_EQ(clock_hz[i], alone.clock_hz) << i;
    EXPECT_EQ(clock_hz[i] < ceiling_hz[i], alone.reasons == kSwPowerCap) << i;
    if (alone.reasons == kApplicationsClocksSetting) ++locked;
  }
  EXPECT_GT(locked, 20u);
  EXPECT_GT(found, 200u);
}

TEST(Governor, ClockRisesWithTheCapAndFallsWithHeatAndLoad) {
  GpuPower gpu = governed_gpu();
  gpu.leakage_per_k = 0.01;
  const Response response{0.8, 1000e6};
  double before = 0;
  for (double cap_w = 60; cap_w < 320; cap_w += 1) {
    const double clock = decide(gpu, {cap_w}, {200, 20, 0, true}, response).clock_hz;
    EXPECT_GE(clock, before);
    before = clock;
  }
  before = 1e12;
  for (double die_c = 20; die_c < 95; die_c += 1) {
    const double clock =
        decide_clock(gpu, {}, {200}, die_c, {200, 20, 0, true}, response, 0).clock_hz;
    EXPECT_LE(clock, before);
    before = clock;
  }
  before = 1e12;
  for (double core_w = 0; core_w < 400; core_w += 2) {
    const double clock = decide(gpu, {200}, {core_w, 20, 0, true}, response).clock_hz;
    EXPECT_LE(clock, before);
    before = clock;
  }
}

/// A thermal governor with periods of its own.
struct Timed : ThermalGovernor {
  GovernorPeriods periods;
  void advance(const GpuPower& gpu, double dt_s, double die_c, double memory_c, double clock_hz) {
    ThermalGovernor::advance(gpu, periods.pass(dt_s), die_c, memory_c, clock_hz);
  }
};

TEST(ThermalGovernor, StepsDownWhileHotAndUpWhileCool) {
  const GpuPower gpu = governed_gpu();
  Timed governor;
  governor.advance(gpu, 0.1, 84, 60, 1000e6);
  EXPECT_EQ(governor.ceiling_hz, 0);  // not at its limit
  EXPECT_EQ(governor.reasons(), 0u);
  governor.advance(gpu, 0.1, 85, 60, 1000e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 990e6);
  EXPECT_EQ(governor.reasons(), kSwThermalSlowdown);
  governor.advance(gpu, 0.3, 86, 60, 990e6);  // three periods
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 960e6);
  governor.advance(gpu, 0.1, 84, 60, 960e6);  // within the hysteresis: holds
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 960e6);
  governor.advance(gpu, 0.3, 83, 60, 960e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 990e6);
  governor.advance(gpu, 0.1, 83, 60, 990e6);
  EXPECT_EQ(governor.ceiling_hz, 0);  // back at the top: not limiting
}

TEST(ThermalGovernor, CountsPartsOfAPeriod) {
  Timed governor;
  for (int i = 0; i < 9; ++i) governor.advance(governed_gpu(), 0.01, 85, 60, 1000e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 1000e6);  // it holds the clock at once
  EXPECT_EQ(governor.reasons(), kSwThermalSlowdown);
  governor.advance(governed_gpu(), 0.01, 85, 60, 1000e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 990e6);  // and steps down when a period is over
}

TEST(ThermalGovernor, MemoryCountsAsMuchAsTheDie) {
  Timed governor;
  governor.advance(governed_gpu(), 0.1, 60, 95, 800e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 790e6);  // from the clock in force
  governor.advance(governed_gpu(), 0.1, 60, 94, 790e6);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 790e6);
}

TEST(ThermalGovernor, HalvesUntilFiveDegreesBelow) {
  Timed governor;
  governor.advance(governed_gpu(), 0.01, 90, 60, 1000e6);
  EXPECT_TRUE(governor.halved);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 500e6);
  EXPECT_EQ(governor.reasons(), kHwSlowdown | kHwThermalSlowdown);
  governor.advance(governed_gpu(), 1, 85, 60, 500e6);
  EXPECT_TRUE(governor.halved);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 500e6);  // once, not again and again
  governor.advance(governed_gpu(), 0.1, 80, 60, 500e6);
  EXPECT_FALSE(governor.halved);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 510e6);  // and then up step by step
  EXPECT_EQ(governor.reasons(), kSwThermalSlowdown);
}

TEST(ThermalGovernor, ShutsDownForGood) {
  Timed governor;
  governor.advance(governed_gpu(), 0.01, 95, 60, 1000e6);
  EXPECT_TRUE(governor.shut_down);
  EXPECT_DOUBLE_EQ(governor.ceiling_hz, 100e6);
  governor.advance(governed_gpu(), 100, 30, 30, 100e6);
  EXPECT_TRUE(governor.shut_down);
}

// Below all limits it stays at rest; five ticks of 40 ms are two periods.
TEST(ThermalGovernor, RestsBelowAllLimits) {
  const GpuPower gpu = governed_gpu();
  const QuietBelow quiet(gpu);
  EXPECT_EQ(quiet.die_c, 85);
  EXPECT_EQ(quiet.memory_c, 95);
  EXPECT_EQ(QuietBelow(GpuPower{}).die_c, HUGE_VAL);
  ThermalGovernor governor;
  GovernorPeriods time;
  double periods = 0;
  for (int tick = 0; tick < 5; ++tick) {
    const double ended = time.pass(0.04);
    governor.advance(gpu, ended, 84.9, 94.9, 900e6);
    periods += ended;
    EXPECT_TRUE(governor.is_at_rest());
  }
  EXPECT_EQ(periods, 2);
  governor.advance(gpu, 0, 85, 60, 900e6);
  EXPECT_FALSE(governor.is_at_rest());
}

TEST(ThermalGovernor, UnknownLimitsNeverBind) {
  GpuPower gpu = governed_gpu();
  gpu.target_c = gpu.slowdown_c = gpu.shutdown_c = gpu.memory_limit_c = 0;
  Timed governor;
  governor.advance(gpu, 10, 300, 300, 1000e6);
  EXPECT_EQ(governor.ceiling_hz, 0);
  EXPECT_EQ(governor.reasons(), 0u);
}

}  // namespace
}  // namespace ergometer::physics
