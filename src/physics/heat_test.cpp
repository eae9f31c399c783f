#include "physics/heat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "physics/heat_network.h"

namespace ergometer::physics {
namespace {

/// Round numbers near those of an air-cooled 700 W part.
CoolingParameters round_numbers() {
  CoolingParameters cooling;
  cooling.die_j_per_k = 2;
  cooling.spreader_j_per_k = 60;
  cooling.sink_j_per_k = 700;
  cooling.memory_j_per_k = 20;
  cooling.die_k_per_w = 0.016;
  cooling.spreader_k_per_w = 0.01;
  cooling.memory_k_per_w = 0.05;
  cooling.sink_k_per_w = 0.01;
  cooling.film_k_per_w = 0.014;
  cooling.preheat_k_per_w = 0.022;
  cooling.inlet_c = 25;
  return cooling;
}

spec::Node node_of(std::vector<spec::Slot> slots, int dies_per_module = 1) {
  spec::Node node;
  node.name = "test";
  node.gpus = static_cast<int>(slots.size());
  node.slots = std::move(slots);
  node.gpu.dies_per_module = dies_per_module;
  return node;
}

/// Two rows of four, as in an HGX board.
spec::Node two_rows() {
  return node_of({{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}});
}

std::vector<double> watts(const Heat& heat, double value) {
  return std::vector<double>(static_cast<size_t>(heat.gpus()), value);
}

/// One GPU, 600 W in the die and 50 W in the HBM: 650 W leave through 0.024 K/W, 15.6 K above 25 C;
/// the spreader is 650 x 0.01 = 6.5 K above the sink, the die 600 x 0.016 = 9.6 K above the
/// spreader, the HBM 50 x 0.05 = 2.5 K.
TEST(Heat, SettlesWhereOhmsLawPutsOneGpu) {
  Heat heat(round_numbers(), node_of({{0, 0}}), 1, {});
  heat.settle(watts(heat, 600), watts(heat, 50));
  EXPECT_NEAR(heat.die_c()[0], 25 + 15.6 + 6.5 + 9.6, 1e-10);
  EXPECT_NEAR(heat.memory_c()[0], 25 + 15.6 + 6.5 + 2.5, 1e-10);
  EXPECT_EQ(heat.coolant_c()[0], 25);
  EXPECT_NEAR(heat.die_k_per_w(0), 0.024 + 0.01 + 0.016, 1e-14);
}

/// The front GPU's 650 W warm what the rear one breathes by 650 x 0.022 = 14.3 K, at half the flow
/// by twice that; then the film's 0.014 K/W are 0.014 x 2^0.8 = 0.024376 K/W, on both.
TEST(Heat, TheRearRowBreathesWhatTheFrontRowWarmed) {
  Heat heat(round_numbers(), two_rows(), 1, {});
  heat.settle(watts(heat, 600), watts(heat, 50));
  EXPECT_NEAR(heat.coolant_c()[1], 25 + 14.3, 1e-10);
  EXPECT_NEAR(heat.die_c()[1] - heat.die_c()[0], 14.3, 1e-10);
  heat.set_flow(0, 0.5);
  heat.settle(watts(heat, 600), watts(heat, 50));
  EXPECT_NEAR(heat.die_c()[0], 56.7 + 650 * 0.014 * (std::exp2(0.8) - 1), 1e-10);
  EXPECT_NEAR(heat.die_c()[1] - heat.die_c()[0], 28.6, 1e-10);
}

TEST(Heat, EnergyIsDrawnStoredOrCarriedAway) {
  Heat heat(round_numbers(), two_rows(), 3, {});
  double drawn = 0;
  for (int step = 0; step < 500; ++step) {
    const double dt = 0.01 * (1 + step % 97);
    std::vector<double> die, memory;
    for (int64_t gpu = 0; gpu < heat.gpus(); ++gpu) {
      die.push_back(100 + static_cast<double>((gpu * 37 + step * 11) % 500));
      memory.push_back(static_cast<double>((gpu * 13 + step * 7) % 90));
      drawn += dt * (die.back() + memory.back());
    }
    if (step % 20 == 0) heat.set_flow(step % 3, 0.3 + 0.1 * (step % 7));
    if (step % 30 == 0) heat.set_inlet(step % 3, 15 + step % 25);
    heat.advance(dt, die, memory);
  }
  EXPECT_NEAR((heat.stored_j() + heat.carried_j()) / drawn, 1, 1e-9);
  EXPECT_GT(heat.carried_j(), 0.5 * drawn);
  EXPECT_GT(heat.stored_j(), 0);
}

}  // namespace
}  // namespace ergometer::physics
