#include <gtest/gtest.h>

#include "workload/operator.h"

namespace ergometer::workload {
namespace {

// 8 experts, top 4, on 4 members of 2: a member is missed with 6/8 * 5/7 * 4/6 * 3/5 = 3/14, so
// 4 * 11/14 are met.
TEST(Routing, MeetsFewerMembersThanItHasChoices) {
  EXPECT_NEAR(expected_members({.experts = 8, .choices = 4}, 4), 4 * 11.0 / 14, 1e-12);
  EXPECT_NEAR(expected_members({.experts = 8, .choices = 4}, 8), 4, 1e-12);  // an expert a member
  EXPECT_NEAR(expected_members({.experts = 8, .choices = 4}, 1), 1, 1e-12);
}

// DeepSeek-V3: 256 experts in 8 groups, 2 experts in each of 4 groups. 8 members hold a group each:
// 4. 4 members hold 2 groups each: a member is missed with 6/8 * 5/7 * 4/6 * 3/5 = 3/14. 16 members
// hold half a group each: of 32 experts 2, in halves: missed with 16/32 * 15/31; 4 * 2 * (1 -
// 15/62).
TEST(Routing, StaysInItsGroups) {
  const TokenRouting deepseek{.experts = 256, .choices = 8, .groups = 8, .group_choices = 4};
  EXPECT_NEAR(expected_members(deepseek, 8), 4, 1e-12);
  EXPECT_NEAR(expected_members(deepseek, 4), 4 * 11.0 / 14, 1e-12);
  EXPECT_NEAR(expected_members(deepseek, 16), 8 * (1 - 15.0 / 62), 1e-12);
}

}  // namespace
}  // namespace ergometer::workload
