#include "search/overlap/max_plus.h"

#include <gtest/gtest.h>

namespace ergometer::search {
namespace {

TEST(MaxPlus, TwoKernelsOneAfterTheOther) {
  // A kernel of 5 whose launch takes 2, and one of 1 whose launch takes 3.
  const MaxPlus first{5, 5, MaxPlus::kNever, 2}, second{1, 1, MaxPlus::kNever, 3};
  const MaxPlus both = then(first, second);
  EXPECT_EQ(both.tt, 6);  // busy GPU: 5 + 1
  EXPECT_EQ(both.th, 6);  // idle GPU: the first ends at 5, the second is launched at 2 and waits
  EXPECT_EQ(both.hh, 5);  // launches: 2 + 3
  double t = 0, h = 10;   // the host is late
  both.apply(t, h);
  EXPECT_EQ(t, 16);
  EXPECT_EQ(h, 15);
}

TEST(MaxPlus, AHostSyncHoldsLaunchesBack) {
  // A kernel of 5 launched in 1, whose result the host waits for.
  const MaxPlus sync{5, 5, 5, 5};
  const MaxPlus next{2, 2, MaxPlus::kNever, 1};
  const MaxPlus both = then(sync, next);
  EXPECT_EQ(both.tt, 7);
  EXPECT_EQ(both.ht, 6);  // the second launch follows the first kernel's end
}

TEST(MaxPlus, RepeatIsARowOfThem) {
  const MaxPlus one{3, 4, MaxPlus::kNever, 5};
  MaxPlus row;
  for (int i = 0; i < 13; ++i) row = then(row, one);
  const MaxPlus repeated = repeat(one, 13);
  EXPECT_EQ(repeated.tt, row.tt);
  EXPECT_EQ(repeated.th, row.th);
  EXPECT_EQ(repeated.hh, row.hh);
  EXPECT_EQ(repeat(one, 0).tt, 0);
}

TEST(MaxPlus, AGpuThatWaitsForItsHostHasThatTimeToLose) {
  // Launches of 10, kernels of 4, the last one 1: three seconds more hide, eight make a GPU of 12.
  const MaxPlus late{4, 11, MaxPlus::kNever, 10};
  EXPECT_EQ(lengthened(late, 3).th, 11);
  EXPECT_EQ(lengthened(late, 8).th, 13);
  EXPECT_EQ(lengthened(late, 8).tt, 12);
  // A busy GPU does not feel two seconds more of launches.
  const MaxPlus busy{12, 13, MaxPlus::kNever, 4};
  EXPECT_EQ(lengthened(busy, 0, 2).th, 13);
  EXPECT_EQ(lengthened(busy, 0, 2).hh, 6);
}

}  // namespace
}  // namespace ergometer::search
