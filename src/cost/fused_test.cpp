#include <gtest/gtest.h>

#include <utility>

#include "cost/parameters.h"
#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

// The example of fused.cpp, 4 members: 100 us of product, 60 us of collective.
TEST(FusedKernel, TheLongerOfBothAndTheFirstPiece) {
  EXPECT_DOUBLE_EQ(fused_kernel_s({.product_s = 100, .collective_s = 60, .members = 4}), 115);
  EXPECT_DOUBLE_EQ(fused_kernel_s({.product_s = 60, .collective_s = 100, .members = 4}), 115);
}

// Slower by 1.2 and 1.5 while both run: the collective is done at 90, the product 25 later, and 15
// are the first piece. The other way round the product is done at 72, with 48 of the collective.
TEST(FusedKernel, EachSlowsTheOther) {
  FusedTimes times{.product_s = 100,
                   .collective_s = 60,
                   .slow_product = 1.2,
                   .slow_collective = 1.5,
                   .members = 4};
  EXPECT_DOUBLE_EQ(fused_kernel_s(times), 130);
  std::swap(times.product_s, times.collective_s);
  EXPECT_DOUBLE_EQ(fused_kernel_s(times), 72 + (100 - 48) + 15);
}

}  // namespace
}  // namespace ergometer::cost
