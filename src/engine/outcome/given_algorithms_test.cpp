#include "engine/outcome/given_algorithms.h"

#include <gtest/gtest.h>

namespace ergometer::engine {
namespace {

// 3 s of 10 may be 2 or 4.5.
TEST(GivenAlgorithmsSpread, IsAThirdLessToHalfMoreOfWhatIsWaitedFor) {
  const run::Interval spread = given_algorithms_spread(3, 10);
  EXPECT_DOUBLE_EQ(spread.low, 0.9);
  EXPECT_DOUBLE_EQ(spread.high, 1.15);
}

}  // namespace
}  // namespace ergometer::engine
