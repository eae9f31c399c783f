#include "base/exponential.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ergometer::base {
namespace {

/// Largest relative distance to the 64-bit mantissa of long double.
double worst_error(double from, double to, int points) {
  double worst = 0;
  for (int i = 0; i <= points; ++i) {
    const double x = from + (to - from) * i / points;
    const long double exact = std::exp(static_cast<long double>(x));
    const auto error = static_cast<double>(std::abs(exponential(x) / exact - 1));
    worst = std::max(worst, error);
  }
  return worst;
}

TEST(Exponential, IsTheExponentialToFifteenDigits) {
  EXPECT_EQ(exponential(0), 1);
  EXPECT_DOUBLE_EQ(exponential(1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(exponential(-1), 0.36787944117144233);
  EXPECT_LT(worst_error(-1, 1, 200'001), 3e-16);
  EXPECT_LT(worst_error(-700, 700, 200'003), 3e-16);
}

TEST(Exponential, KeepsItsBits) {
  // The same on every machine: any other bits mean that results would differ between machines.
  EXPECT_EQ(exponential(0.5), 0x1.a61298e1e069cp+0);
  EXPECT_EQ(exponential(-3.25), 0x1.3da368521902dp-5);
  EXPECT_EQ(exponential(123.456), 0x1.1428e1cbc0143p+178);
}

TEST(Exponential, HoldsAtTheEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(exponential(709.5) / std::exp(709.5), 1, 1e-15);
  EXPECT_NEAR(exponential(-708.2) / std::exp(-708.2), 1, 1e-15);
  EXPECT_NEAR(exponential(-740) / std::exp(-740.0), 1, 0.01);  // a subnormal of few digits
  EXPECT_EQ(exponential(-800), 0);
  EXPECT_EQ(exponential(800), infinity);
  EXPECT_EQ(exponential(infinity), infinity);
  EXPECT_EQ(exponential(-infinity), 0);
  EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Logarithm, UndoesTheExponential) {
  EXPECT_EQ(logarithm(1), 0);
  EXPECT_DOUBLE_EQ(logarithm(2), 0.6931471805599453);
  EXPECT_DOUBLE_EQ(logarithm(10), 2.302585092994046);
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(logarithm(x), std::log(x), 3e-16 * std::abs(std::log(x)) + 1e-16) << x;
}

TEST(Power, HalfTheFlowToThePowerOfFourFifths) {
  EXPECT_DOUBLE_EQ(power(0.5, 0.8), 0.5743491774985174);  // 2^-0.8
  EXPECT_EQ(power(1, 0.8), 1);
}

}  // namespace
}  // namespace ergometer::base
