#include "search/overlap/two_lanes.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

using Beside = std::array<TwoLanes::Beside, 2>;

TEST(TwoLanes, WithOneLaneAtWorkItIsADataLane) {
  // 4 s at half pace last 8 s, in which compute at 4/5 of its pace does 6.4 s of its 10; the other
  // 3.6 s it is alone.
  TwoLanes lanes({1, 1});
  const double mark = lanes.issue(TwoLanes::kExperts, 4);
  lanes.compute(10, Beside{{{}, {1.25, 2}}});
  EXPECT_DOUBLE_EQ(lanes.now_s(), 11.6);
  lanes.wait(TwoLanes::kExperts, mark);
  EXPECT_DOUBLE_EQ(lanes.now_s(), 11.6);
}

TEST(TwoLanes, BothSlowComputeAndEachOther) {
  // Beside both, compute does half and each lane half of what it does alone: in the first 4 s the
  // exchanges' 2 s, 2 s of the data's 3 s and 2 s of compute; the data's last second is alone
  // beside compute (2/3 of its pace) and lasts 1 s; 10 - 2 - 2/3 s of compute are left.
  TwoLanes lanes({2, 2});
  lanes.issue(TwoLanes::kData, 3);
  lanes.issue(TwoLanes::kExperts, 2);
  lanes.compute(10, Beside{{{1.5, 1}, {1.5, 1}}});
  EXPECT_NEAR(lanes.now_s(), 4 + 1 + (10 - 2 - 2.0 / 3), 1e-12);
  EXPECT_EQ(lanes.left_s(TwoLanes::kData), 0);
}

TEST(TwoLanes, WaitingForOneLaneTheOtherGoesOn) {
  // Both at half pace: after 4 s the exchanges' 2 s are over, and 2 s of the data's 5.
  TwoLanes lanes({2, 2});
  lanes.issue(TwoLanes::kData, 5);
  lanes.issue(TwoLanes::kExperts, 2);
  lanes.wait_for_all(TwoLanes::kExperts);
  EXPECT_NEAR(lanes.now_s(), 4, 1e-12);
  EXPECT_NEAR(lanes.left_s(TwoLanes::kData), 3, 1e-12);
  lanes.wait_for_all(TwoLanes::kData);
  EXPECT_NEAR(lanes.now_s(), 7, 1e-12);
}

}  // namespace
}  // namespace ergometer::search
