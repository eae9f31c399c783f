#include "campaign/deviation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::campaign {
namespace {

constexpr double kAtFivePercent = -1.6448536269514722;

// 2 s, 1.6 s to 4 s: ln(2 / 1.6) / 1.645 = 0.1357 below, ln(4 / 2) / 1.645 = 0.4214 above.
TEST(Deviation, IsOfEachSideItsOwn) {
  const Deviation deviation = deviation_of(2, {1.6, 4});
  EXPECT_NEAR(deviation.below, 0.1357, 1e-4);
  EXPECT_NEAR(deviation.above, 0.4214, 1e-4);
}

// The median stays, and the ends are where 5 % of the draws are cut off on either side.
TEST(Deviation, KeepsMedianAndEnds) {
  const Deviation deviation = deviation_of(2, {1.6, 4});
  EXPECT_EQ(2 * factor(deviation, 0), 2);
  EXPECT_NEAR(2 * factor(deviation, kAtFivePercent), 1.6, 1e-12);
  EXPECT_NEAR(2 * factor(deviation, -kAtFivePercent), 4, 1e-12);
}

TEST(Deviation, IsNoneWithoutAnInterval) {
  const Deviation deviation = deviation_of(2, {});
  EXPECT_EQ(factor(deviation, 3), 1);
  EXPECT_EQ(factor(deviation_of(2, {2, 2}), -3), 1);
}

}  // namespace
}  // namespace ergometer::campaign
