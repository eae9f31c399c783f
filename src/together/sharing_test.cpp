#include "together/sharing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_support.h"

namespace ergometer::together {
namespace {

TEST(FairShares, GiveNobodyMoreThanItSends) {
  EXPECT_EQ(fair_shares({{.load = 0.25}, {.load = 0.5}}), (std::vector<double>{0.25, 0.5}));
  // A third each is more than the first sends; the other two share what it leaves.
  EXPECT_EQ(fair_shares({{.load = 0.25}, {.load = 2}, {.load = 1}}),
            (std::vector<double>{0.25, 0.375, 0.375}));
  // Three nodes of four get three quarters.
  EXPECT_EQ(fair_shares({{.load = 2, .weight = 3}, {.load = 2, .weight = 1}}),
            (std::vector<double>{0.75, 0.25}));
}

TEST(HeldUp, ByThoseThatSendAtTheSameTime) {
  // Alone for half of the time, at half the pace else: 1 / (1/2 + 1/4).
  EXPECT_DOUBLE_EQ(held_up({{.load = 1}, {.load = 1, .busy = 0.5}}, 0), 4.0 / 3);
  // Links that hold it up alone already, by 2: half and a quarter of the pace.
  EXPECT_DOUBLE_EQ(held_up({{.load = 2}, {.load = 2, .busy = 0.5}}, 0), 1 / 0.375);
  // Two others, each for half of the time: none in 1/4, one in 1/2, both in 1/4.
  EXPECT_DOUBLE_EQ(held_up({{.load = 1}, {.load = 1, .busy = 0.5}, {.load = 1, .busy = 0.5}}, 0),
                   1 / (0.25 + 0.5 / 2 + 0.25 / 3));
  // The links carry both.
  EXPECT_DOUBLE_EQ(held_up({{.load = 0.5}, {.load = 0.5, .busy = 1}}, 0), 1);
}

/// A tier of switches for 4 nodes; so many nodes of a job under each.
std::vector<TierPlace> under(std::map<int64_t, int64_t> groups) {
  return {{.below = 4, .groups = std::move(groups)}};
}

/// Computes for 1 s and sends for 1 s, or as long as it is held up.
Result<Played> one_and_one(size_t, const std::vector<double>& shares) {
  const double sends_s = shares.front();
  return Played{.step_s = 1 + sends_s,
                .tiers = {{.tier = "leaf", .busy_s = sends_s, .load = 1, .share = 1, .with = {}}}};
}

// sharing.cpp, "Worked": x (1 + x/2) = 1 + x.
TEST(Settle, TwoEqualJobsThatSendHalfOfTheirTimeAlone) {
  const auto jobs =
      base::value_of(settle({under({{0, 2}, {1, 2}}), under({{0, 2}, {1, 2}})}, one_and_one));
  for (const Played& job : jobs) {
    EXPECT_NEAR(job.step_s, 1 + std::sqrt(2.0), 1e-3);
    EXPECT_NEAR(job.tiers.front().share, std::sqrt(2.0), 1e-3);
  }
  EXPECT_EQ(jobs[0].tiers.front().with, std::vector<size_t>{1});
  EXPECT_EQ(jobs[1].tiers.front().with, std::vector<size_t>{0});
}

TEST(Settle, JobsUnderSwitchesOfTheirOwnLoseNothing) {
  const auto jobs =
      base::value_of(settle({under({{0, 4}, {1, 4}}), under({{2, 4}, {3, 4}})}, one_and_one));
  for (const Played& job : jobs) {
    EXPECT_EQ(job.step_s, 2);
    EXPECT_FALSE(job.tiers.front().is_slowed());
  }
}

// Under the switches that they share each has two nodes and fills half of the links.
TEST(Settle, WhatJobsSendFromOneGroupIsByTheirNodesThere) {
  const auto play = [](size_t which, const std::vector<double>& shares) {
    auto played = one_and_one(which, shares);
    played->tiers.front().loads = {{4, 1.0}, {2, 0.5}};
    return played;
  };
  const auto few = base::value_of(settle({under({{0, 4}, {1, 2}}), under({{1, 2}, {2, 4}})}, play));
  EXPECT_EQ(few[0].step_s, 2);
  EXPECT_EQ(few[1].step_s, 2);
  // Of a ring, which sends as much from two nodes as from four, it is all of them.
  const auto rings =
      base::value_of(settle({under({{0, 4}, {1, 2}}), under({{1, 2}, {2, 4}})}, one_and_one));
  EXPECT_NEAR(rings[0].step_s, 1 + std::sqrt(2.0), 1e-3);
}

// Jobs that send now for a tenth of the time, now always.
TEST(Settle, WhatDoesNotComeToRestIsRefused) {
  int plays = 0;
  const auto restless = [&](size_t which, const std::vector<double>& shares) {
    auto played = one_and_one(which, shares);
    played->tiers.front().busy_s = (plays++ / 2 % 2 == 0 ? 0.1 : 1) * played->step_s;
    return played;
  };
  const auto jobs = settle({under({{0, 4}, {1, 4}}), under({{0, 4}, {1, 4}})}, restless);
  EXPECT_NE(base::error_of(jobs).find("has not come to rest after 50 rounds"), std::string::npos);
}

TEST(Settle, AJobThatStaysUnderOneSwitchTakesNothing) {
  const auto jobs = base::value_of(settle({under({{0, 2}, {1, 4}}), under({{0, 2}})}, one_and_one));
  EXPECT_EQ(jobs[0].step_s, 2);
  EXPECT_EQ(jobs[1].step_s, 2);
}

}  // namespace
}  // namespace ergometer::together
