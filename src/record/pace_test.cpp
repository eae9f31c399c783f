#include "record/pace.h"

#include <gtest/gtest.h>

namespace ergometer::record {
namespace {

using namespace std::chrono_literals;

TEST(Pace, CountsFromTheStartSoThatNoErrorAddsUp) {
  const Pace::Clock::time_point start{};
  Pace pace(start, 1.0 / 3);
  for (int i = 0; i < 3'000'000; ++i) EXPECT_EQ(pace.advance(pace.next()), 0);
  EXPECT_EQ(pace.next() - start, 1'000'000s);
}

TEST(Pace, ALateRoundIsFollowedAtOnceAndNothingIsMissed) {
  const Pace::Clock::time_point start{};
  Pace pace(start, 0.1);
  // Round 0 took 150 ms: round 1 is due since 50 ms.
  EXPECT_EQ(pace.advance(start + 150ms), 0);
  EXPECT_EQ(pace.next(), start + 100ms);
}

TEST(Pace, WhatIsAPeriodLateIsPassedOver) {
  const Pace::Clock::time_point start{};
  Pace pace(start, 0.1);
  // Round 0 took 350 ms: 1 and 2 are missed, 3 is late.
  EXPECT_EQ(pace.advance(start + 350ms), 2);
  EXPECT_EQ(pace.next(), start + 300ms);
  EXPECT_EQ(pace.advance(start + 360ms), 0);
  EXPECT_EQ(pace.next(), start + 400ms);
}

}  // namespace
}  // namespace ergometer::record
