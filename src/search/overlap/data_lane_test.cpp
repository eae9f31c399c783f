#include "search/overlap/data_lane.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

TEST(DataLane, ACollectiveHidesBehindALongKernel) {
  // 4 s of collective at half pace last 8 s, in which a kernel at 4/5 of its pace does 6.4 s of its
  // 10; the other 3.6 s it is alone.
  DataLane lane;
  const double mark = lane.issue(4);
  lane.compute(10, 12.5, 2);
  EXPECT_DOUBLE_EQ(lane.now_s(), 11.6);
  lane.wait(mark);
  EXPECT_DOUBLE_EQ(lane.now_s(), 11.6);
  EXPECT_EQ(lane.left_s(), 0);
}

TEST(DataLane, WhatAShortKernelDoesNotHideIsWaitedFor) {
  // The kernel lasts 5 s, in which the collective does 2.5 of its 4.
  DataLane lane;
  const double mark = lane.issue(4);
  lane.compute(4, 5, 2);
  EXPECT_DOUBLE_EQ(lane.now_s(), 5);
  EXPECT_DOUBLE_EQ(lane.left_s(), 1.5);
  lane.wait(mark);
  EXPECT_DOUBLE_EQ(lane.now_s(), 6.5);
}

TEST(DataLane, AHostBoundPassHasItsIdleTimeToLose) {
  // Launches take 10 s, kernels 4 s alone and 5 s beside a collective: no longer than the host. For
  // half of the 10 s the collective takes twice as long: 1.5 times in the mean.
  DataLane lane;
  lane.issue(20);
  lane.run({.tt = 4, .th = 10, .ht = MaxPlus::kNever, .hh = 10},
           {.tt = 5, .th = 10, .ht = MaxPlus::kNever, .hh = 10}, 2);
  EXPECT_DOUBLE_EQ(lane.now_s(), 10);
  EXPECT_NEAR(lane.left_s(), 20 - 10 / 1.5, 1e-12);
}

}  // namespace
}  // namespace ergometer::search
