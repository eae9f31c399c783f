#include <gtest/gtest.h>

#include <vector>

#include "cost/energy.h"
#include "engine/power/power_play.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

// What one H200 did at its limit of 700 W (tests/data/h200): products of 8192^3, without pause and
// in bursts.

/// Products for `busy_s` at 1980 MHz, then nothing for `idle_s`, over and over: 792 TFLOP/s, as
/// measured before any limit acts; 0.991 pJ/FLOP in the core, 0.034 in HBM (docs/models/power.md).
StepActivity products(double busy_s, double idle_s) {
  constexpr double kSliceS = 0.005, kFlopPerS = 792e12, kCoreJ = 0.991e-12, kMemoryJ = 0.034e-12;
  StepActivity work;
  RoleActivity role;
  const auto add = [&](double seconds, double busy) {
    for (double s = kSliceS / 2; s < seconds; s += kSliceS, ++work.slices) {
      const double flop = busy * kFlopPerS * kSliceS;
      role.slices.push_back({.tensor_j = kCoreJ * flop, .memory_j = kMemoryJ * flop});
      role.clocked_s.push_back(busy * kSliceS);
    }
  };
  add(busy_s, 1);
  add(idle_s, 0);
  work.step_s = work.slices * kSliceS;
  work.roles.push_back(role);
  return work;
}

/// One H200 at rest, and how it plays that work.
class Board {
 public:
  explicit Board(const StepActivity& work)
      : job_(test::job_of({{"model", "llama3-8b"}, {"cluster", "hgx-h200"}, {"gpus", "1"}})),
        fleet_(*make_fleet(job_)),
        heat_(fleet_, job_.cluster),
        work_(work),
        play_(fleet_, work_, job_.conditions, heat_, 1980e6, {}) {
    heat_.start_at(40);
  }
  /// Mean power of that long from now on.
  double mean_w(double seconds) {
    constexpr double kTickS = 0.005;
    double energy_j = 0;
    const double until_s = play_.now_s() + seconds - kTickS / 2;
    while (play_.now_s() < until_s) energy_j += kTickS * play_.advance(kTickS).watts[0];
    return energy_j / seconds;
  }

 private:
  spec::Job job_;
  Fleet fleet_;
  FleetHeat heat_;
  StepActivity work_;
  PowerPlay play_;
};

// 730 W until the mean of the last second nears the limit, then 690 W; 700 W in the first 1.49 s.
TEST(BoardWindow, HoldsTheMeanOfASecond) {
  Board board(products(0.05, 0));
  const double first_w = board.mean_w(0.2), burst_w = board.mean_w(0.3);
  const double rest_w = board.mean_w(0.99);
  board.mean_w(4);
  const double later_w = board.mean_w(4);
  EXPECT_NEAR(burst_w, 730, 20);
  EXPECT_NEAR((0.2 * first_w + 0.3 * burst_w + 0.99 * rest_w) / 1.49, 700, 20);
  EXPECT_NEAR(later_w, 0.987 * 700, 1);
}

// Half of the time idle: the mean stays far below the limit, and bursts are held to what boards
// draw for less than a second.
TEST(BoardWindow, BurstsDrawWhatWasMeasured) {
  const struct {
    double half_s, measured_w;
  } rows[] = {{0.010, 553}, {0.025, 520}, {0.050, 521}, {0.100, 492}, {0.200, 471}};
  for (const auto& [half_s, measured_w] : rows) {
    Board board(products(half_s, half_s));
    board.mean_w(1);
    EXPECT_NEAR(board.mean_w(2), measured_w, 0.1 * measured_w) << half_s;
  }
}

}  // namespace
}  // namespace ergometer::engine
