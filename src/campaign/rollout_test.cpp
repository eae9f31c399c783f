#include "campaign/rollout.h"

#include <gtest/gtest.h>

namespace ergometer::campaign {
namespace {

TEST(DecodeStretches, TheLongestHoldsTheBatch) {
  const std::vector<int64_t> lengths = {2, 4, 8};
  // Two slots: 0-2 both, 2-4 the second and the third, 4-10 the third alone.
  EXPECT_EQ(decode_steps(lengths, 2), 10);
  // Three: 0-2 three, 2-4 two, 4-8 one, which is less than half of them.
  EXPECT_EQ(decode_steps(lengths, 3), 8);
  int64_t tail = 0;
  for (const DecodeStretch& one : decode_stretches(lengths, 3, 10))
    if (one.tail) tail += one.steps;
  EXPECT_EQ(tail, 4);
}

TEST(DecodeStretches, AddUpToAllTokens) {
  std::vector<int64_t> lengths;
  double tokens = 0;
  for (int64_t i = 1; i <= 64; ++i) {
    lengths.push_back(i * i);
    tokens += static_cast<double>(i * i);
  }
  for (const int64_t slots : {1, 7, 64}) {
    double decoded = 0;
    int64_t steps = 0;
    for (const DecodeStretch& one : decode_stretches(lengths, slots, 100)) {
      decoded += static_cast<double>(one.steps) * one.active;
      steps += one.steps;
      EXPECT_GT(one.context, 100);
      EXPECT_LE(one.active, static_cast<double>(slots));
    }
    EXPECT_NEAR(decoded, tokens, 1e-6);
    EXPECT_EQ(steps, decode_steps(lengths, slots));
  }
}

TEST(DecodeStretches, ContextIsThePromptAndHalfOfAnEvenAnswer) {
  const std::vector<int64_t> lengths(8, 100);
  const std::vector<DecodeStretch> one = decode_stretches(lengths, 8, 10);
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one[0].steps, 100);
  EXPECT_DOUBLE_EQ(one[0].active, 8);
  EXPECT_DOUBLE_EQ(one[0].context, 60);
}

}  // namespace
}  // namespace ergometer::campaign
