#include "report/format.h"

#include <gtest/gtest.h>

namespace ergometer::report {
namespace {

TEST(Format, ParametersAreBillions) {
  EXPECT_EQ(format_parameters(70.56e9), "70.6 B");
  EXPECT_EQ(format_parameters(124.4e6), "124 M");
  EXPECT_EQ(format_parameters(1.008e12), "1.01 T");
  EXPECT_EQ(format_parameters(405.9e9), "406 B");
}

TEST(Format, AQuantityCarriesItsUnit) {
  EXPECT_EQ(format_quantity(9.895e14, "FLOP/s"), "990 TFLOP/s");
  EXPECT_EQ(format_quantity(2.5e-6, "s"), "2.50 us");
  EXPECT_EQ(format_quantity(0.71, ""), "0.71");
}

TEST(Format, ASmallLossIsNoShareBelowNothing) {
  EXPECT_EQ(format_share(-0.0004), "0.0 %");
  EXPECT_EQ(format_share(-0.0006), "-0.1 %");
  EXPECT_EQ(format_share(0.031), "3.1 %");
  EXPECT_EQ(format_change(0.031), "+3.1 %");
  EXPECT_EQ(format_change(-0.0004), "0.0 %");
  EXPECT_EQ(format_change(-0.002), "-0.2 %");
}

}  // namespace
}  // namespace ergometer::report
