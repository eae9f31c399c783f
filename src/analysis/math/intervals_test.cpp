#include "analysis/math/intervals.h"

#include <gtest/gtest.h>

namespace ergometer::analysis {
namespace {

TEST(Intervals, UniteWhatOverlapsAndWhatTouches) {
  // [0,5) and [3,8) overlap, [8,9) touches, [12,14) stands apart and holds [12,13); [20,20) is
  // empty.
  const Intervals all = unite({{3, 8}, {12, 14}, {0, 5}, {8, 9}, {12, 13}, {20, 20}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].start_ns, 0);
  EXPECT_EQ(all[0].end_ns, 9);
  EXPECT_EQ(length(all), 11);
}

TEST(Intervals, CommonLengthCountsWhatBothCover) {
  const Intervals a = unite({{0, 10}, {20, 30}}), b = unite({{5, 22}, {25, 26}, {29, 40}});
  EXPECT_EQ(common_length(a, b), 5 + 2 + 1 + 1);
  EXPECT_EQ(common_length(b, a), 9);
  EXPECT_EQ(common_length(a, {}), 0);
  EXPECT_EQ(length(unite(a, b)), 40);
}

}  // namespace
}  // namespace ergometer::analysis
