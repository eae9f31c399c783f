#include "cost/power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::cost {
namespace {

TEST(Power, RootsAndWholeExponentsAreExact) {
  EXPECT_EQ(power(4, 0.5), 2);
  EXPECT_EQ(power(16, 0.75), 8);
  EXPECT_EQ(power(2, 3), 8);
  EXPECT_EQ(power(0.3, 0), 1);
  EXPECT_EQ(power(9, 1.5), 27);
}

TEST(Power, OtherExponentsAreCloseToTheLibrarys) {
  for (const double base : {0.05, 0.4, 0.75, 0.99})
    for (const double exponent : {0.122, 0.5, 0.735, 1.08})
      EXPECT_NEAR(power(base, exponent) / std::pow(base, exponent), 1, 1.5e-3)
          << base << " ^ " << exponent;
}

TEST(Levels, AreBinaryLogarithmsWithStraightLinesBetween) {
  EXPECT_EQ(levels(1), 0);
  EXPECT_EQ(levels(2), 1);
  EXPECT_EQ(levels(3), 1.5);
  EXPECT_EQ(levels(4), 2);
  EXPECT_EQ(levels(6), 2.5);
  EXPECT_EQ(levels(1024), 10);
}

}  // namespace
}  // namespace ergometer::cost
