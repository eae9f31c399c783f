#include "calibration/twin/board_overrides.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/twin/test_boards.h"
#include "engine/simulate.h"
#include "physics/silicon.h"

namespace ergometer::calibration::twin {
namespace {

using test::capped;
using test::fitted;
using test::has_note;
using test::kBeat;
using test::kReadings;
using test::recorded;
using test::spread;
using test::with;

TEST(BoardOverrides, ThePlayedJobHasTheClocksThatWereRead) {
  spec::Job hidden = capped("400W");
  hidden.conditions.seed = 3;
  with(hidden, "node0.gpu2.leakage=5");
  const run::DeviceLog log = recorded(hidden);
  const Boards boards = fitted(log, capped("400W"));
  const auto run = engine::simulate(on_boards(capped("400W"), boards),
                                    {.kernels = false, .all_ranks = true, .intervals = false});
  ASSERT_TRUE(run.has_value());
  double before = 0, after = 0;
  for (size_t i = 0; i < boards.boards.size(); ++i) {
    const Board& board = boards.boards[i];
    before = std::max(before, std::abs(board.predicted_mhz / board.read.clock_mhz - 1));
    after = std::max(after, std::abs(run->ranks[i].mean_clock_mhz / board.read.clock_mhz - 1));
  }
  EXPECT_GT(before, 0.03);
  EXPECT_LT(after, 0.01);
}

TEST(BoardOverrides, WhatTheJobSaysOfThemGivesWay) {
  spec::Job hidden = capped("500W");
  with(hidden, "node1.inlet=40C");
  with(hidden, "node1.gpu6.resistance=3");
  with(hidden, "gpu2.power_cap=400W");
  run::DeviceLog log = recorded(hidden);
  for (run::Device& device : log.devices) {
    run::Series limit{.metric = run::Metric::kPowerLimit, .samples = {}};
    for (int64_t i = 0; i <= 2 * kReadings; ++i)
      limit.samples.push_back({i * kBeat, device.index == 2 ? 400.0 : 500.0});
    device.series.push_back(std::move(limit));
  }
  const Boards said = fitted(log, hidden);
  for (const Board& board : said.boards) EXPECT_EQ(board.cap_w, 0);
  EXPECT_NEAR(std::log(said.boards[14].resistance.value / 3), 0, 0.2);
  double factor = 1;
  for (const spec::Override& one : on_boards(hidden, said).conditions.overrides)
    if (one.kind == spec::OverrideKind::kResistance && one.node == 1 && one.gpu == 6)
      factor *= one.value;
  EXPECT_NEAR(factor, said.boards[14].resistance.value, 0.01);
}

TEST(BoardOverrides, WhereTwoWereRecordedTheOthersDifferAsTheirKindDoes) {
  run::DeviceLog log = recorded(spread(2, 0.5));
  std::erase_if(log.devices, [](const run::Device& it) { return it.index > 1; });
  const spec::Job job = capped("500W");
  const Boards boards = fitted(log, job);
  EXPECT_EQ(physics::silicon_spread(on_boards(job, boards).cluster.node.gpu).thermal_resistance,
            physics::silicon_spread(job.cluster.node.gpu).thermal_resistance);
  for (const NodeInlet& inlet : boards.inlets) {
    EXPECT_FALSE(inlet.told);
    EXPECT_EQ(inlet.inlet_c, inlet.predicted_c);
  }
  EXPECT_TRUE(has_note(boards, "inlet of b01, a02: takes a sensor of it"));
}

}  // namespace
}  // namespace ergometer::calibration::twin
