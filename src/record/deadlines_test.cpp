#include "record/deadlines.h"

#include <gtest/gtest.h>

namespace ergometer::record {
namespace {

using namespace std::chrono_literals;

TEST(Deadlines, CountsFromTheStartSoThatNoErrorAddsUp) {
  const Deadlines::Clock::time_point start{};
  Deadlines deadlines(start, 1.0 / 3);
  for (int i = 0; i < 3'000'000; ++i) EXPECT_EQ(deadlines.advance(deadlines.next()), 0);
  EXPECT_EQ(deadlines.next() - start, 1'000'000s);
}

TEST(Deadlines, ALateRoundIsFollowedAtOnceAndNothingIsMissed) {
  const Deadlines::Clock::time_point start{};
  Deadlines deadlines(start, 0.1);
  // Round 0 took 150 ms: round 1 is due since 50 ms.
  EXPECT_EQ(deadlines.advance(start + 150ms), 0);
  EXPECT_EQ(deadlines.next(), start + 100ms);
}

TEST(Deadlines, WhatIsAPeriodLateIsPassedOver) {
  const Deadlines::Clock::time_point start{};
  Deadlines deadlines(start, 0.1);
  // Round 0 took 350 ms: 1 and 2 are missed, 3 is late.
  EXPECT_EQ(deadlines.advance(start + 350ms), 2);
  EXPECT_EQ(deadlines.next(), start + 300ms);
  EXPECT_EQ(deadlines.advance(start + 360ms), 0);
  EXPECT_EQ(deadlines.next(), start + 400ms);
}

}  // namespace
}  // namespace ergometer::record
