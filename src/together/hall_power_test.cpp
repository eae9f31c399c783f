#include "together/hall_power.h"

#include <gtest/gtest.h>

namespace ergometer::together {
namespace {

// One draws 1 and 3 kW for half of the time each, the other 2 kW for a quarter and 4 kW else.
PowerShares two_jobs() {
  return beside(power_shares({1000, 3000}, 1000), power_shares({2000, 4000, 4000, 4000}, 1000));
}

TEST(HallPower, EveryPowerOfOneMeetsEveryPowerOfTheOther) {
  const PowerShares both = two_jobs();
  EXPECT_DOUBLE_EQ(both.low_w, 3000);
  // 1+2 kW in 1/2 * 1/4; 1+4 or 3+2 kW in 1/2 * 3/4 + 1/2 * 1/4; 3+4 kW in 1/2 * 3/4.
  EXPECT_EQ(both.shares, (std::vector<double>{0.125, 0, 0.5, 0, 0.375}));
  EXPECT_DOUBLE_EQ(both.mean_w(), 2000 + 3500);
}

TEST(HallPower, IsAboveALimitForTheSharesBeyondIt) {
  const PowerShares both = two_jobs();
  EXPECT_DOUBLE_EQ(both.above(7000), 0);
  EXPECT_DOUBLE_EQ(both.above(6999), 0.375);
  EXPECT_DOUBLE_EQ(both.above(3000), 0.875);
  EXPECT_DOUBLE_EQ(both.above(0), 1);
}

TEST(HallPower, LeastPowerThatIsExceededNoLongerThanAShare) {
  const PowerShares both = two_jobs();
  EXPECT_DOUBLE_EQ(both.exceeded_for(0.3), 7000);
  // Above 5 kW for 3/8 of the time; nothing is drawn between 5 and 7.
  EXPECT_DOUBLE_EQ(both.exceeded_for(0.375), 6000 - 1000);
  EXPECT_DOUBLE_EQ(both.exceeded_for(1), 3000);
}

TEST(HallPower, OfAConstantIsOnePower) {
  const PowerShares one = power_shares({500, 500}, 10);
  EXPECT_EQ(one.shares, std::vector<double>{1});
  EXPECT_DOUBLE_EQ(one.mean_w(), 500);
}

}  // namespace
}  // namespace ergometer::together
