#include "physics/heat.h"

#include <gtest/gtest.h>

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
  for (int64_t step = 0; step < 500; ++step) {
    const double dt = 0.01 * static_cast<double>(1 + step % 97);
    std::vector<double> die, memory;
    for (int64_t gpu = 0; gpu < heat.gpus(); ++gpu) {
      die.push_back(100 + static_cast<double>((gpu * 37 + step * 11) % 500));
      memory.push_back(static_cast<double>((gpu * 13 + step * 7) % 90));
      drawn += dt * (die.back() + memory.back());
    }
    if (step % 20 == 0) heat.set_flow(step % 3, 0.3 + 0.1 * static_cast<double>(step % 7));
    if (step % 30 == 0) heat.set_inlet(step % 3, 15 + step % 25);
    heat.advance(dt, die, memory);
  }
  EXPECT_NEAR((heat.stored_j() + heat.carried_j()) / drawn, 1, 1e-9);
  EXPECT_GT(heat.carried_j(), 0.5 * drawn);
  EXPECT_GT(heat.stored_j(), 0);
}

/// A step over minutes, and what ends in the steady state.
TEST(Heat, StepsEndWhereItSettles) {
  Heat stepped(round_numbers(), two_rows(), 1, {}), settled(round_numbers(), two_rows(), 1, {});
  settled.settle(watts(settled, 500), watts(settled, 60));
  for (int step = 0; step < 3000; ++step)
    stepped.advance(0.5, watts(stepped, 500), watts(stepped, 60));
  Heat once(round_numbers(), two_rows(), 1, {});
  once.advance(1e5, watts(once, 500), watts(once, 60));
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_NEAR(stepped.die_c()[gpu], settled.die_c()[gpu], 1e-9);
    EXPECT_NEAR(once.die_c()[gpu], settled.die_c()[gpu], 1e-8);
    EXPECT_NEAR(once.memory_c()[gpu], settled.memory_c()[gpu], 1e-8);
    EXPECT_NEAR(once.coolant_c()[gpu], settled.coolant_c()[gpu], 1e-8);
  }
}

/// The same for twins along a lane, across lanes, and three rows of them, at three quarters of the
/// flow: the sinks' linear equations against 1e6 s of steps.
TEST(Heat, TwinsSettleWhereStepsTakeThem) {
  CoolingParameters cooling = round_numbers();
  cooling.twin_w_per_k = 14;
  const std::vector<spec::Slot> nodes[] = {{{0, 0}, {1, 0}, {0, 1}, {1, 1}},
                                           {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}},
                                           {{1, 0}, {0, 1}, {0, 0}, {2, 1}}};
  for (const auto& slots : nodes) {
    Heat stepped(cooling, node_of(slots, 2), 1, {}), settled(cooling, node_of(slots, 2), 1, {});
    std::vector<double> die, memory;
    for (size_t gpu = 0; gpu < slots.size(); ++gpu) {
      die.push_back(150 + 40 * static_cast<double>(gpu));
      memory.push_back(50 - 5 * static_cast<double>(gpu));
    }
    for (Heat* heat : {&stepped, &settled}) heat->set_flow(0, 0.75);
    stepped.advance(1e6, die, memory);
    settled.settle(die, memory);
    for (size_t gpu = 0; gpu < slots.size(); ++gpu) {
      EXPECT_NEAR(stepped.die_c()[gpu], settled.die_c()[gpu], 1e-8);
      EXPECT_NEAR(stepped.memory_c()[gpu], settled.memory_c()[gpu], 1e-8);
      EXPECT_NEAR(stepped.coolant_c()[gpu], settled.coolant_c()[gpu], 1e-8);
    }
  }
}

/// Steps round the flow to 1/128: 0.7 becomes 90 / 128 = 0.703.
TEST(Heat, RoundingTheFlowMovesLittle) {
  Heat stepped(round_numbers(), two_rows(), 1, {}), settled(round_numbers(), two_rows(), 1, {});
  for (Heat* heat : {&stepped, &settled}) heat->set_flow(0, 0.7);
  settled.settle(watts(settled, 600), watts(settled, 50));
  stepped.advance(1e6, watts(stepped, 600), watts(stepped, 50));
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_NEAR(stepped.die_c()[gpu], settled.die_c()[gpu], 0.15);
    EXPECT_NE(stepped.die_c()[gpu], settled.die_c()[gpu]);
  }
}

TEST(Heat, OneLongStepIsManyShortOnes) {
  Heat long_step(round_numbers(), two_rows(), 1, {}),
      short_steps(round_numbers(), two_rows(), 1, {});
  long_step.advance(64, watts(long_step, 650), watts(long_step, 50));
  for (int step = 0; step < 6400; ++step)
    short_steps.advance(0.01, watts(short_steps, 650), watts(short_steps, 50));
  for (size_t gpu = 0; gpu < 8; ++gpu)
    EXPECT_NEAR(long_step.die_c()[gpu], short_steps.die_c()[gpu], 1e-9);
  EXPECT_NEAR(long_step.stored_j() / short_steps.stored_j(), 1, 1e-11);
  EXPECT_NEAR(long_step.carried_j() / short_steps.carried_j(), 1, 1e-11);
}

/// Everything else equal, a place in a row is a place in a row: to the last bit.
TEST(Heat, SymmetricSlotsHaveTheSameTemperature) {
  Heat heat(round_numbers(), two_rows(), 50, {});
  for (int step = 0; step < 100; ++step)
    heat.advance(0.37, watts(heat, 300 + 3 * step), watts(heat, 50));
  for (size_t gpu = 2; gpu < 400; ++gpu) EXPECT_EQ(heat.die_c()[gpu], heat.die_c()[gpu % 2]);
}

/// Two dies side by side, 200 W and 100 W, sinks of 0.05 K/W to the coolant joined by 20 W/K, with
/// a conductance of 1 / 0.05 = 20 W/K each: s1 and s2 above the inlet obey
/// 200 = 20 s1 + 20 (s1 - s2), 100 = 20 s2 + 20 (s2 - s1), so s1 = 25/3, s2 = 20/3.
TEST(Heat, TwinDiesShareTheirSinks) {
  CoolingParameters cooling = round_numbers();
  cooling.sink_k_per_w = 0.05;
  cooling.film_k_per_w = 0;
  cooling.twin_w_per_k = 20;
  Heat heat(cooling, node_of({{0, 0}, {0, 1}}, 2), 1, {});
  const double die[] = {200, 100}, memory[] = {0, 0};
  heat.settle(die, memory);
  EXPECT_NEAR(heat.die_c()[0], 25 + 25.0 / 3 + 200 * 0.026, 1e-10);
  EXPECT_NEAR(heat.die_c()[1], 25 + 20.0 / 3 + 100 * 0.026, 1e-10);
}

/// A factor of 1.26 is 40.32 / 32: 40 / 32 = 1.25 is used, 600 x 0.016 x 1.25 = 12 K instead of
/// 9.6 K between die and spreader.
TEST(Heat, ResistanceIsRoundedToThirtySeconds) {
  const double factors[] = {1, 1, 1, 1, 1.26, 1, 1, 1};
  Heat heat(round_numbers(), two_rows(), 1, factors);
  heat.settle(watts(heat, 600), watts(heat, 50));
  EXPECT_NEAR(heat.die_c()[4] - heat.die_c()[2], 2.4, 1e-10);
  EXPECT_NEAR(heat.die_c()[5] - heat.die_c()[3], 0, 1e-10);
  EXPECT_NEAR(heat.die_k_per_w(4), 0.054, 1e-14);
}

/// Which lanes are advanced side by side must not matter: a node's temperatures are the same bits
/// alone and among many nodes with other flows, inlets and resistances.
TEST(Heat, ANodeDoesNotFeelOtherNodes) {
  constexpr size_t kFirst = 56;  // GPU of node 7, each having eight
  std::vector<double> factors;
  for (int gpu = 0; gpu < 40 * 8; ++gpu) factors.push_back(0.8 + 0.01 * (gpu % 41));
  Heat many(round_numbers(), two_rows(), 40, factors);
  Heat one(round_numbers(), two_rows(), 1, std::span(factors).subspan(kFirst, 8));
  for (int step = 0; step < 50; ++step) {
    for (int64_t node = 0; node < 40; ++node)
      many.set_flow(node, 0.5 + 0.01 * static_cast<double>((node * 7 + step) % 30));
    one.set_flow(0, 0.5 + 0.01 * ((7 * 7 + step) % 30));
    many.set_inlet(7, 20 + step % 5);
    one.set_inlet(0, 20 + step % 5);
    many.advance(1, watts(many, 400), watts(many, 40));
    one.advance(1, watts(one, 400), watts(one, 40));
  }
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(one.die_c()[gpu], many.die_c()[kFirst + gpu]);
    EXPECT_EQ(one.coolant_c()[gpu], many.coolant_c()[kFirst + gpu]);
  }
}

TEST(Heat, StartsAtTheInletOrWhereItIsTold) {
  Heat heat(round_numbers(), two_rows(), 2, {});
  EXPECT_EQ(heat.die_c()[0], 25);
  heat.set_inlet(1, 35);
  EXPECT_EQ(heat.die_c()[8], 35);
  EXPECT_EQ(heat.coolant_c()[15], 35);
  heat.advance(10, watts(heat, 0), watts(heat, 0));
  EXPECT_NEAR(heat.die_c()[8], 35, 1e-12);
  heat.start_at(60);
  EXPECT_EQ(heat.die_c()[0], 60);
  EXPECT_EQ(heat.coolant_c()[9], 35);
  heat.advance(1e6, watts(heat, 0), watts(heat, 0));
  EXPECT_NEAR(heat.die_c()[0], 25, 1e-8);
  // Eight GPUs of 782 J/K fall from 60 to 25 C, eight to 35 C: 35 + 25 = 60 K for each pair.
  EXPECT_NEAR(heat.stored_j(), -782.0 * 8 * 60, 1e-6);
  EXPECT_NEAR(heat.carried_j(), 782.0 * 8 * 60, 1e-6);
}

TEST(Heat, ScaledItKeepsItsProportions) {
  Heat heat(round_numbers(), two_rows(), 1, {});
  heat.set_inlet(0, 30);
  heat.settle(watts(heat, 400), watts(heat, 40));
  const std::vector<double> rest_c(heat.die_c().begin(), heat.die_c().end());
  heat.advance(1, watts(heat, 400), watts(heat, 40));
  heat.scale_above_inlet(0.5);
  for (size_t gpu = 0; gpu < rest_c.size(); ++gpu)
    EXPECT_NEAR(heat.die_c()[gpu], 30 + (rest_c[gpu] - 30) / 2, 1e-9);
  // Sinks too: with half the power it is at rest.
  heat.advance(1, watts(heat, 200), watts(heat, 20));
  for (size_t gpu = 0; gpu < rest_c.size(); ++gpu)
    EXPECT_NEAR(heat.die_c()[gpu], 30 + (rest_c[gpu] - 30) / 2, 1e-9);
}

TEST(Lanes, TwinsJoinLanesAndRowsOrderThem) {
  const std::vector<Lane> plain = lanes_of(two_rows());
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain[1].gpus, (std::vector{2, 3}));
  EXPECT_TRUE(plain[1].upstream[1][0]);
  EXPECT_FALSE(plain[1].upstream[0][1]);
  // Modules 0-1 and 2-3 across lanes 0 and 5, module 4-5 along lane 7, rear die first.
  const std::vector<Lane> joined =
      lanes_of(node_of({{0, 0}, {0, 5}, {1, 0}, {1, 5}, {1, 7}, {0, 7}}, 2));
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].gpus, (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(joined[0].twin, (std::vector{2, 3, 0, 1}));
  EXPECT_EQ(joined[1].gpus, (std::vector{5, 4}));
}

}  // namespace
}  // namespace ergometer::physics
