#include "physics/unit_circle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace ergometer::physics {
namespace {

TEST(UnitCircle, EighthsAreExact) {
  EXPECT_EQ(unit_circle(0, 8), std::complex<double>(1, 0));
  EXPECT_EQ(unit_circle(2, 8), std::complex<double>(0, 1));
  EXPECT_EQ(unit_circle(4, 8), std::complex<double>(-1, 0));
  EXPECT_EQ(unit_circle(6, 8), std::complex<double>(0, -1));
  EXPECT_EQ(unit_circle(14, 8), unit_circle(6, 8));
  EXPECT_EQ(unit_circle(-2, 8), unit_circle(6, 8));
  // sin 30 degrees = 1/2, cos 45 degrees = sqrt(1/2)
  EXPECT_NEAR(unit_circle(1, 12).imag(), 0.5, 2e-16);
  EXPECT_NEAR(unit_circle(1, 8).real(), std::sqrt(0.5), 2e-16);
}

TEST(UnitCircle, EqualsTheLibrarysSineAndCosine) {
  constexpr int64_t kTurn = 9973;
  for (int64_t k = 0; k < kTurn; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / kTurn;
    const std::complex<double> point = unit_circle(k, kTurn);
    // The library's argument is itself off by up to 4e-16 times 2 pi.
    EXPECT_NEAR(point.real(), std::cos(angle), 2e-15);
    EXPECT_NEAR(point.imag(), std::sin(angle), 2e-15);
    EXPECT_NEAR(std::norm(point), 1, 1e-15);
  }
}

}  // namespace
}  // namespace ergometer::physics
