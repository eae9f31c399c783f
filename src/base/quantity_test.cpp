#include "base/quantity.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace ergometer::base {
namespace {

template <class A, class B>
concept CanAdd = requires(A a, B b) { a + b; };

TEST(Quantity, WorkOverRateIsTime) {
  // 989e12 FLOP at 494.5 TFLOP/s take 2 s; 6.7e9 B at 3.35 TB/s take 2 ms.
  EXPECT_DOUBLE_EQ((Flops(989e12) / FlopsPerSecond(494.5e12)).value(), 2);
  EXPECT_DOUBLE_EQ((Bytes(6.7e9) / BytesPerSecond(3.35e12)).value(), 2e-3);
  EXPECT_DOUBLE_EQ((Bytes(6) / Seconds(2)).value(), 3);
  EXPECT_DOUBLE_EQ((Flops(6) / Seconds(2)).value(), 3);
  EXPECT_DOUBLE_EQ((Watts(700) * Seconds(10)).value(), 7000);
}

TEST(Quantity, OnlyTheSameUnitAddsUp) {
  EXPECT_EQ(Seconds(1) + 2.0 * Seconds(3) - Seconds(4) / 2, Seconds(5));
  EXPECT_EQ(Seconds(6) / Seconds(4), 1.5);
  EXPECT_LT(-Watts(1), Watts());
  static_assert(CanAdd<Bytes, Bytes>);
  static_assert(!CanAdd<Bytes, Seconds>);
  static_assert(!std::is_convertible_v<double, Seconds>);
}

}  // namespace
}  // namespace ergometer::base
