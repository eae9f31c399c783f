#include "analysis/ranks/clock_offset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/ranks/arrivals.h"
#include "analysis/trace/test_traces.h"
#include "base/random.h"

namespace ergometer::analysis {
namespace {

constexpr int64_t kEpoch = 1'760'000'000'000'000'000;

// The true clock of the peer: 300 ms ahead at the start, gaining 50 ppm.
int64_t peer_time(int64_t own_ns) { return own_ns + 300 * kMs + (own_ns - kEpoch) / 20'000; }

/// A probe a second for ten minutes. Ways of 50 us, each with a queue of its own: mostly short, at
/// times milliseconds.
std::vector<run::ClockProbe> probes(uint64_t seed) {
  const base::Random random(seed, 0, "probes");
  std::vector<run::ClockProbe> all;
  for (uint64_t i = 0; i < 600; ++i) {
    const auto way = [&](uint64_t n) {
      return 50'000 + static_cast<int64_t>(20'000 * -std::log(1 - random.uniform(n))) +
             (random.uniform(n + 1) < 0.1 ? random.below(n + 2, 5 * kMs) : 0);
    };
    run::ClockProbe probe;
    probe.sent_ns = kEpoch + static_cast<int64_t>(i) * kSecond;
    const int64_t arrives = probe.sent_ns + way(6 * i), leaves = arrives + 10'000;
    probe.peer_received_ns = peer_time(arrives);
    probe.peer_sent_ns = peer_time(leaves);
    probe.received_ns = leaves + way(6 * i + 3);
    all.push_back(probe);
  }
  return all;
}

TEST(ClockOffset, ProbesFindOffsetAndDriftWithinTheirUncertainty) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto model = clock_from_probes(probes(seed));
    ASSERT_TRUE(model);
    EXPECT_NEAR(model->drift_ppm, 50, model->drift_uncertainty_ppm);
    EXPECT_LT(model->drift_uncertainty_ppm, 1);
    EXPECT_LT(model->uncertainty_ns, kMs);
    for (const int64_t at : {kEpoch, kEpoch + 300 * kSecond, kEpoch + 599 * kSecond}) {
      const auto error = static_cast<double>(model->offset_at(at) - (peer_time(at) - at));
      EXPECT_LE(std::abs(error), model->uncertainty_ns) << seed;
    }
  }
}

// Offsets of 5 and 10 ms 100 s apart, round trips of 2 ms: see the header.
TEST(ClockOffset, OfTwoProbesByHand) {
  const auto probe = [](int64_t at, int64_t offset) {
    run::ClockProbe p;
    p.sent_ns = at;
    p.peer_received_ns = p.peer_sent_ns = at + kMs + offset;
    p.received_ns = at + 2 * kMs;
    return p;
  };
  const std::vector<run::ClockProbe> two = {probe(0, 5 * kMs), probe(100 * kSecond, 10 * kMs)};
  const auto model = clock_from_probes(two);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->drift_ppm, 50, 1e-9);
  EXPECT_EQ(model->offset_at(kMs), 5 * kMs);
  EXPECT_EQ(model->offset_at(100 * kSecond + kMs), 10 * kMs);
  EXPECT_NEAR(model->uncertainty_ns, 1e6, 1);
  EXPECT_NEAR(model->drift_uncertainty_ppm, 20, 1e-6);
}

TEST(ClockOffset, OneProbeHasNoDrift) {
  run::ClockProbe p;
  p.sent_ns = 0;
  p.peer_received_ns = p.peer_sent_ns = 700;
  p.received_ns = 400;
  const auto model = clock_from_probes(std::vector{p});
  ASSERT_TRUE(model);
  EXPECT_EQ(model->drift_ppm, 0);
  EXPECT_EQ(model->offset_at(12345), 500);
  EXPECT_EQ(model->uncertainty_ns, 200);
}

TEST(ClockOffset, ImpossibleProbesAreLeftOut) {
  run::ClockProbe back_in_time, slower_than_the_trip, huge;
  back_in_time.peer_received_ns = 10;
  slower_than_the_trip.received_ns = 10;
  slower_than_the_trip.peer_sent_ns = 20;
  huge.sent_ns = INT64_MIN;
  huge.received_ns = INT64_MAX;
  EXPECT_FALSE(clock_from_probes(std::vector{back_in_time, slower_than_the_trip, huge}));
  EXPECT_FALSE(clock_from_probes({}));
}

// A clock that was set by 2 s in the middle contradicts one line: the larger part counts, and the
// uncertainty says that something is off only there.
TEST(ClockOffset, StrangersAreLeftOut) {
  std::vector<ClockDifference> differences;
  for (int64_t i = 0; i < 32; ++i)
    differences.push_back({i * kSecond, i == 20 ? 2e9 : 1000.0, 100});
  const auto model = fit_clock(differences);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->offset_ns, 1000, 1);
  EXPECT_EQ(model->samples, 31);
  EXPECT_LT(model->uncertainty_ns, 300);
}

/// Two ranks' all-reduces for a minute; rank 1's clock is 300 ms behind and loses 50 ppm. Ends
/// differ by up to 20 us, transfers take 100 us and more, ranks come up to 5 ms apart.
std::vector<run::RankTrace> two_nodes(uint64_t seed) {
  const base::Random random(seed, 0, "all-reduces");
  TestTrace a(0), b(1);
  const auto clock_of_b = [](int64_t t) { return t - 300 * kMs - t / 20'000; };
  for (int64_t i = 0; i < 600; ++i) {
    const auto n = static_cast<uint64_t>(5 * i);
    const int64_t begin = i * 100 * kMs;
    const int64_t start_a = begin + random.below(n, 5 * kMs),
                  start_b = begin + random.below(n + 1, 5 * kMs);
    const int64_t end = std::max(start_a, start_b) + 100'000 + random.below(n + 2, 2 * kMs);
    const int64_t end_b = end + random.below(n + 3, 40'000) - 20'000;
    a.collective(start_a, end, i);
    b.collective(clock_of_b(start_b), clock_of_b(end_b), i);
  }
  return {a.trace, b.trace};
}

TEST(ClockOffset, CollectivesFindOffsetAndDriftWithinTheirUncertainty) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto ranks = two_nodes(seed);
    const ClockTable table = align_clocks(ranks, match_collectives(ranks));
    ASSERT_EQ(table.ranks.size(), 2u);
    const RankClock& clock = table.ranks[1];
    ASSERT_TRUE(clock.known);
    EXPECT_TRUE(clock.applied);
    EXPECT_NEAR(clock.model.drift_ppm, 50, clock.model.drift_uncertainty_ppm);
    EXPECT_LT(clock.model.uncertainty_ns, kMs);
    for (const int64_t t : {kSecond, 30 * kSecond, 59 * kSecond}) {
      const int64_t own = t - 300 * kMs - t / 20'000;
      EXPECT_LE(std::abs(static_cast<double>(table.common_ns(1, own) - t)),
                clock.model.uncertainty_ns);
    }
  }
}

// Both end at the same time on one clock: what remains is within the bound, and nothing is changed.
TEST(ClockOffset, ClocksOfOneHostAreLeftAlone) {
  TestTrace a(0), b(1);
  for (int64_t i = 0; i < 20; ++i) {
    a.collective(i * 1000, i * 1000 + 50, i);
    b.collective(i * 1000 + 20, i * 1000 + 53, i);
  }
  const std::vector<run::RankTrace> ranks = {a.trace, b.trace};
  const ClockTable table = align_clocks(ranks, match_collectives(ranks));
  EXPECT_TRUE(table.ranks[1].known);
  EXPECT_FALSE(table.ranks[1].applied);
  EXPECT_EQ(table.common_ns(1, 77), 77);
}

// 0 - 1 in one group, 1 - 2 in another: 2 is reached over 1. Clock 1 is 1 ms behind, 2 another 2
// ms.
TEST(ClockOffset, RanksAreReachedOverOthers) {
  TestTrace a(0), b(1), c(2);
  for (int64_t i = 0; i < 8; ++i) {
    const int64_t t = i * kSecond;
    a.collective(t, t + 1000, i);
    b.collective(t - kMs, t - kMs + 1000, i);
    b.collective(t + 5000 - kMs, t + 6000 - kMs, i, "allreduce", "h");
    c.collective(t + 5000 - 3 * kMs, t + 6000 - 3 * kMs, i, "allreduce", "h");
  }
  const std::vector<run::RankTrace> ranks = {a.trace, b.trace, c.trace};
  const ClockTable table = align_clocks(ranks, match_collectives(ranks));
  EXPECT_EQ(table.common_ns(1, 0), kMs);
  EXPECT_EQ(table.common_ns(2, 0), 3 * kMs);
  EXPECT_NEAR(table.ranks[2].model.uncertainty_ns, 2 * table.ranks[1].model.uncertainty_ns, 1);
}

// A rank that shares no collective with the others is not known, and not moved.
TEST(ClockOffset, WhatNothingTiesIsNotKnown) {
  TestTrace a(0), b(1), c(2);
  a.collective(0, 10, 0);
  b.collective(0, 10, 0);
  c.kernel(0, 10);
  const std::vector<run::RankTrace> ranks = {a.trace, b.trace, c.trace};
  const ClockTable table = align_clocks(ranks, match_collectives(ranks));
  EXPECT_TRUE(table.ranks[1].known);
  EXPECT_FALSE(table.ranks[2].known);
}

// Arrival is on the common clock: rank 1 comes last by 2 ms, though its clock is 300 ms behind.
TEST(ClockOffset, ArrivalUsesIt) {
  TestTrace a(0), b(1);
  const int64_t behind = 300 * kMs;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t t = i * kSecond;
    a.collective(t, t + 3 * kMs, i);
    b.collective(t + 2 * kMs - behind, t + 3 * kMs - behind, i);
  }
  const ArrivalTable table = arrival_table({a.trace, b.trace});
  EXPECT_EQ(table.ranks[1].last, 10);
  EXPECT_EQ(table.skew_ns, 20 * kMs);
}

}  // namespace
}  // namespace ergometer::analysis
