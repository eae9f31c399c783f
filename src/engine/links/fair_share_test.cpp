#include "engine/links/fair_share.h"

#include <gtest/gtest.h>

#include <array>

namespace ergometer::engine {
namespace {

TEST(FairShare, LessThanAnEqualShareIsGranted) {
  const std::array<double, 2> demands = {30, 100};
  EXPECT_DOUBLE_EQ(fair_share(30, demands, 100), 30);
  EXPECT_DOUBLE_EQ(fair_share(100, demands, 100), 70);
}

TEST(FairShare, EqualDemandsDivideTheLink) {
  const std::array<double, 4> demands = {100, 100, 100, 100};
  EXPECT_DOUBLE_EQ(fair_share(100, demands, 100), 25);
}

// 10 and 35 are satisfied in turn: 120 / 4 = 30 grants the 10, (120 - 10) / 3 = 36.7 the 35; 75 are
// left for two.
TEST(FairShare, SharesRiseAsOthersAreSatisfied) {
  const std::array<double, 4> demands = {10, 35, 80, 90};
  EXPECT_DOUBLE_EQ(fair_share(35, demands, 120), 35);
  EXPECT_DOUBLE_EQ(fair_share(80, demands, 120), 37.5);
  EXPECT_DOUBLE_EQ(fair_share(90, demands, 120), 37.5);
}

TEST(FairShare, AWideLinkGivesAll) {
  const std::array<double, 2> demands = {30, 40};
  EXPECT_DOUBLE_EQ(fair_share(40, demands, 100), 40);
}

}  // namespace
}  // namespace ergometer::engine
