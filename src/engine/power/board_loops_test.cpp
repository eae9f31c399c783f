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
  const std::vector<double> leakage_w = drawn("leakage", 0, 40), v = drawn("voltage", -0.02, 0.02);
  std::vector<physics::Load> loads = {{.awake = false}, {200, 60, 5}, {450, 30, 15}};
  std::vector<int32_t> role(kGpus, 0);
  for (size_t i = 20; i < kGpus; ++i) role[i] = 1;
  std::vector<double> watts(kGpus), voltage(kGpus);
  const size_t others = board_loops::draw(
      kind, {kGpus, role.data(), clock_hz.data(), leakage_w.data(), v.data(), loads.data()}, 400,
      watts.data(), voltage.data());
  size_t beyond = 0;
  for (size_t i = 0; i < kGpus; ++i) {
    const physics::Silicon silicon{.voltage = v[i]};
    const physics::Load& load = loads[i < 20 ? 1 : 2];
    EXPECT_EQ(voltage[i], kind.relative_voltage(clock_hz[i], silicon));
    EXPECT_EQ(watts[i], kind.power_leaking(clock_hz[i], leakage_w[i], load, silicon));
    if (watts[i] > 400) ++beyond;
  }
  EXPECT_GT(beyond, 0u);
  EXPECT_EQ(others, beyond);
  role[3] = -1;  // asleep, whatever it draws
  EXPECT_EQ(
      board_loops::draw(
          kind, {kGpus, role.data(), clock_hz.data(), leakage_w.data(), v.data(), loads.data()},
          1e9, watts.data(), voltage.data()),
      1u);
}

// Two roles: the second's last ticks ask for more, so that their clocks count. At 1,000 of 1,500
// MHz 0.5 s of clocked work are 0.75 s, and 0.9 s more than there are.
TEST(BoardLoops, SeeByHand) {
  const std::vector<int32_t> role = {0, 1, 0};
  const std::vector<double> core_w = {0, 300, 400}, steady_w = {0, 50, 60},
                            clocked_s = {0, 0.5, 0.9}, rises = {0, 0, 1},
                            whole_hz = {1000e6, 1200e6, 1500e6}, recent_hz = {900e6, 1000e6, 900e6},
                            cap_w = {700, 700, 500}, trim_w = {0, 20, 0};
  std::vector<double> cap(3), core(3), steady(3), share(3), at_hz(3);
  board_loops::see({3, role.data(), 1500e6, core_w.data(), steady_w.data(), clocked_s.data(),
                    rises.data(), whole_hz.data(), recent_hz.data(), cap_w.data(), trim_w.data()},
                   {cap.data(), core.data(), steady.data(), share.data(), at_hz.data()});
  EXPECT_EQ(cap, (std::vector<double>{700, 680, 500}));
  EXPECT_EQ(core, (std::vector<double>{300, 400, 300}));
  EXPECT_EQ(steady, (std::vector<double>{50, 60, 50}));
  EXPECT_EQ(at_hz, (std::vector<double>{1000e6, 1000e6, 1500e6}));
  EXPECT_EQ(share, (std::vector<double>{0.75, 1, 0.5}));
}

// What is beyond the cap is taken back, up to a quarter of it; one below the cap gets back what it
// gave, and up to a sixteenth more.
TEST(BoardLoops, TrimByHand) {
  const std::vector<double> watts = {710, 900, 600, 600}, burnt_w = {0, 0, 0, 0},
                            cap_w = {700, 400, 700, 640};
  std::vector<double> trim_w = {5, 90, 4, -38};
  board_loops::trim({.held = 1, .least = -0.0625, .most = 0.25, .part = 0.1},
                    {.count = 4,
                     .watts = watts.data(),
                     .burnt_w = burnt_w.data(),
                     .cap_w = cap_w.data(),
                     .trim_w = trim_w.data()});
  EXPECT_EQ(trim_w, (std::vector<double>{6, 100, -6, -40}));
}

// At 1000 MHz, the highest clock, nothing holds it; below it the cap does, or at its ceiling the
// lock. One that is braked and one without a decision are counted.
TEST(BoardLoops, TakeDecidedByHand) {
  using board_loops::Special;
  const std::vector<double> decided_hz = {1000e6, 800e6, 700e6, 600e6, 100e6, 0};
  const std::vector<double> ceiling_hz = {1000e6, 1000e6, 700e6, 700e6, 1000e6, 1000e6};
  const std::vector<double> speed = {1, 0.5, 1, 1, 1, 1};
  const std::vector<uint8_t> special = {0, 0, 0, 0, Special::kBraked, 0};
  std::vector<double> clock_hz(6), reached_hz(6);
  std::vector<uint32_t> reasons(6);
  EXPECT_EQ(board_loops::take_decided(1000e6, {.count = 6,
                                               .decided_hz = decided_hz.data(),
                                               .speed = speed.data(),
                                               .ceiling_hz = ceiling_hz.data(),
                                               .special = special.data(),
                                               .clock_hz = clock_hz.data(),
                                               .reached_hz = reached_hz.data(),
                                               .reasons = reasons.data()}),
            2u);
  EXPECT_EQ(clock_hz, decided_hz);
  EXPECT_EQ(reached_hz[1], 400e6);
  const uint32_t cap = physics::kSwPowerCap, lock = physics::kApplicationsClocksSetting;
  EXPECT_EQ(reasons, (std::vector<uint32_t>{0, cap, lock, cap, cap, cap}));
}

// A brake makes no GPU hot; heat that holds it, or a temperature at the limit, does.
TEST(BoardLoops, CountTheHot) {
  using board_loops::Special;
  const std::vector<double> die_c = {60, 84, 60, 60}, memory_c = {70, 70, 95, 70};
  const std::vector<uint8_t> special = {Special::kBraked, 0, 0, Special::kHeldByHeat};
  EXPECT_EQ(board_loops::count_hot(84, 95,
                                   {.count = 4,
                                    .die_c = die_c.data(),
                                    .memory_c = memory_c.data(),
                                    .special = special.data()}),
            3u);
}

// 0.5 s in which 0.3 s follow the clock: at 800 of 1000 MHz they take 0.375 s, and the other 0.1 s
// as long as before; at 400 MHz, below half of the highest clock, these take 0.125 s.
TEST(BoardLoops, CountByHand) {
  const std::vector<int32_t> role = {0, 0};
  const std::vector<double> clock_hz = {800e6, 400e6}, clocked_s = {0, 0.3}, rest_s = {0, 0.1};
  std::vector<double> clock_sum = {0, 1e6}, slowed_s = {2, 0};
  board_loops::count(0.5, 1000e6, 1000e6,
                     {2, role.data(), clocked_s.data(), rest_s.data(), clock_hz.data(),
                      clock_sum.data(), slowed_s.data()});
  EXPECT_DOUBLE_EQ(clock_sum[0], 400e6);
  EXPECT_DOUBLE_EQ(clock_sum[1], 201e6);
  EXPECT_DOUBLE_EQ(slowed_s[0], 2.375);
  EXPECT_DOUBLE_EQ(slowed_s[1], 0.75 + 0.025);
}

}  // namespace
}  // namespace ergometer::engine
