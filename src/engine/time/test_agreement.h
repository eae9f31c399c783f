#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/simulate.h"
#include "engine/time/timeline.h"

/// For tests that hold the sweep to the event engine on random input.
namespace ergometer::engine::test {

/// Numbers that are the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) / 9007199254740992.0;
  }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }

 private:
  uint64_t state_;
};

/// 1e-6 of the value, and the rounding of one instruction to picoseconds where the value is nearly
/// zero.
inline bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(a, b) + 2e-12; }

/// Both engines give the same start and end of every instruction of the sampled ranks, and the same
/// parts.
inline void expect_agreement(const EngineInput& input, uint64_t seed) {
  const Timeline swept = sweep(input);
  const Timeline events = simulate_events(input);
  ASSERT_TRUE(close(swept.step_s, events.step_s))
      << "seed " << seed << ": " << swept.step_s << " " << events.step_s;
  for (size_t rank = 0; rank < swept.ranks.size(); ++rank) {
    ASSERT_TRUE(close(swept.ranks[rank].end_s, events.ranks[rank].end_s))
        << "seed " << seed << " rank " << rank;
    for (size_t part = 0; part < kPartCount; ++part)
      ASSERT_NEAR(swept.ranks[rank].parts_s[part], events.ranks[rank].parts_s[part],
                  1e-6 * swept.step_s)
          << "seed " << seed << " rank " << rank << " part " << part;
  }
  for (size_t role = 0; role < swept.host_gaps_s.size(); ++role)
    ASSERT_NEAR(swept.host_gaps_s[role], events.host_gaps_s[role], 1e-6 * swept.step_s)
        << "seed " << seed;
  ASSERT_EQ(swept.spans.size(), events.spans.size()) << "seed " << seed;
  for (size_t i = 0; i < swept.spans.size(); ++i) {
    const Span &a = swept.spans[i], &b = events.spans[i];
    ASSERT_EQ(a.rank, b.rank);
    ASSERT_EQ(a.instruction, b.instruction);
    ASSERT_TRUE(close(a.start_s, b.start_s) && close(a.end_s, b.end_s))
        << "seed " << seed << " rank " << a.rank << " instruction " << a.instruction << ": sweep "
        << a.start_s << ".." << a.end_s << " events " << b.start_s << ".." << b.end_s;
  }
}

/// Both engines on a job as it is planned, with a clock of its own for every rank.
inline void expect_engines_agree(const spec::Job& job, Random& random, uint64_t seed) {
  std::vector<int64_t> ranks(static_cast<size_t>(job.gpus));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto simulation = simulate_in_full(job, {.sampled_ranks = ranks, .kernels = false});
  ASSERT_TRUE(simulation) << simulation.error().message;
  std::vector<double> clocks_hz;
  for (size_t i = 0; i < ranks.size(); ++i) clocks_hz.push_back(random.real(1e9, 1.6e9));
  expect_agreement({.job = job,
                    .plan = simulation->plan,
                    .costs = simulation->costs,
                    .clocks_hz = clocks_hz,
                    .sampled_ranks = ranks,
                    .stretch = simulation->stretch},
                   seed);
}

}  // namespace ergometer::engine::test
