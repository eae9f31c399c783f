#include "calibration/twin/board_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "calibration/twin/test_boards.h"

namespace ergometer::calibration::twin {
namespace {

using test::capped;
using test::fitted;
using test::recorded;
using test::spread;
using test::with;

TEST(BoardFit, AHotNodeAndBadPasteAreFoundByHostAndIndex) {
  spec::Job hidden = capped("500W");
  hidden.conditions.seed = 7;
  with(hidden, "node1.inlet=40C");
  with(hidden, "node1.gpu6.resistance=3");
  const Boards boards = fitted(recorded(hidden), capped("500W"));
  ASSERT_EQ(boards.boards.size(), 16U);
  EXPECT_EQ(boards.hosts, (std::vector<std::string>{"b01", "a02"}));
  for (const Board& board : boards.boards)
    EXPECT_EQ(board.unlike, board.read.node == 1 && board.read.gpu == 6)
        << board.read.host << ' ' << board.read.gpu << " resistance " << board.resistance.value
        << " +- " << board.resistance.error << ", leakage " << board.leakage.value << " +- "
        << board.leakage.error;
  EXPECT_NEAR(boards.inlets[1].inlet_c, 40, 2 * boards.inlets[1].error_k);
  EXPECT_TRUE(boards.inlets[1].unlike);
}

TEST(BoardFit, ErrorsOfResistanceAreWhatTheyAreOff) {
  int within = 0, all = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    spec::Job hidden = capped("500W");
    hidden.conditions.seed = seed;
    const auto silicon = physics::draw_silicon(seed, hidden.gpus);
    const Boards boards = fitted(recorded(hidden), capped("500W"));
    for (const Board& board : boards.boards) {
      const auto at = static_cast<size_t>(8 * board.read.node + board.read.gpu);
      const double off = std::log(board.resistance.value / silicon[at].thermal_resistance);
      within += std::abs(off) < 2 * board.resistance.error;
      ++all;
    }
  }
  EXPECT_GE(within, all * 9 / 10) << within << " of " << all;
}

TEST(BoardFit, AClockThatNothingExplainsIsItsSpeed) {
  spec::Job hidden = capped("700W");
  with(hidden, "node0.gpu1.speed=0.8");
  const Boards boards = fitted(recorded(hidden), capped("700W"));
  EXPECT_NEAR(boards.boards[1].speed, 0.8, 0.02);
  EXPECT_TRUE(boards.boards[1].unlike);
  EXPECT_EQ(boards.boards[2].speed, 1);
}

TEST(BoardFit, ASpreadThatIsToldIsWithinItsError) {
  constexpr double kHidden = 0.5;
  int told = 0, within = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const BoardValue found =
        fitted(recorded(spread(seed, kHidden), 1), capped("500W")).resistance_spread;
    told += found.told;
    within += found.told && std::abs(std::log(found.value / kHidden)) < 2 * found.error;
  }
  EXPECT_GE(told, 3) << "of 16 boards each, whose sensors differ by nearly as much";
  EXPECT_GE(within, told - 1);
}

TEST(BoardFit, NominalBoardsTellNoSpread) {
  const Boards boards = fitted(recorded(capped("500W")), capped("500W"));
  EXPECT_FALSE(boards.leakage_spread.told);
  EXPECT_FALSE(boards.resistance_spread.told);
}

}  // namespace
}  // namespace ergometer::calibration::twin
