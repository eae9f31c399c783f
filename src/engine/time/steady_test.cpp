#include "engine/time/steady.h"

#include <gtest/gtest.h>

#include <array>

namespace ergometer::engine {
namespace {

using enum MovedTimes::Kind;

/// A stream, what it waits for, and a sum, at three marks.
struct PlayedMarks {
  std::array<double, 3> stream_s, awaited_s, sum_s;
};

class Marked {
 public:
  explicit Marked(const PlayedMarks& played) {
    for (size_t mark = 0; mark < 3; ++mark) {
      stream_ = played.stream_s[mark];
      awaited_ = played.awaited_s[mark];
      sum_ = played.sum_s[mark];
      phase.mark({{.kind = kStream, .values = std::span(&stream_, 1)},
                  {.kind = kAwaited, .values = std::span(&awaited_, 1)},
                  {.kind = kSum, .values = std::span(&sum_, 1)}});
    }
  }
  SteadyPhase phase;
  double stream_ = 0, awaited_ = 0, sum_ = 0;
};

TEST(SteadyPhase, MovesEveryTimeOnByItsOwnPeriod) {
  const Marked it({.stream_s = {10, 12, 14}, .awaited_s = {5, 6, 7}, .sum_s = {1, 1.5, 2}});
  EXPECT_TRUE(it.phase.can_leave_out(100));
  EXPECT_EQ(it.phase.period_s(), 2);
  it.phase.leave_out(100, 0);
  EXPECT_EQ(it.stream_, 14 + 100 * 2);
  EXPECT_EQ(it.awaited_, 7 + 100 * 1);
  EXPECT_EQ(it.sum_, 2 + 100 * 0.5);
}

TEST(SteadyPhase, SeesWhatFollowsInTheFrameOfItsPlay) {
  const Marked it({.stream_s = {10, 12, 14}, .awaited_s = {5, 6, 7}, .sum_s = {1, 1.5, 2}});
  it.phase.leave_out(10, 2);
  EXPECT_EQ(it.stream_, 14);           // as if nothing lay between
  EXPECT_EQ(it.awaited_, 7 - 10 * 1);  // further ahead by what it gains in every period
  EXPECT_EQ(it.sum_, 2 + 10 * 0.5);
}

TEST(SteadyPhase, RefusesPeriodsThatAreNotEqual) {
  EXPECT_FALSE(Marked({.stream_s = {10, 12, 14.5}, .awaited_s = {5, 6, 7}, .sum_s = {1, 1, 1}})
                   .phase.can_leave_out(1));
  EXPECT_FALSE(Marked({.stream_s = {10, 12, 14}, .awaited_s = {5, 6, 7}, .sum_s = {1, 1, 1.5}})
                   .phase.can_leave_out(1));
}

// The host needs 3 s a period, the GPU 2 s, and it is 42 s ahead: at the end of the last of 40
// periods it is at 4 + 40 * 3 = 124 s, where the GPU begins that period at 44 + 40 * 2 = 124 s; of
// 41 at 127 s and 126 s.
TEST(SteadyPhase, LetsAHostLiveOnItsLeadAsFarAsItGoes) {
  const Marked it({.stream_s = {42, 44, 46}, .awaited_s = {-2, 1, 4}, .sum_s = {0, 0, 0}});
  EXPECT_TRUE(it.phase.can_leave_out(40));
  EXPECT_FALSE(it.phase.can_leave_out(41));
}

// A second stream of the role that is slower: it matters to one that joins it in a period.
TEST(SteadyPhase, LooksAtTheStreamsThatAPeriodJoins) {
  for (const bool joins : {false, true}) {
    double compute = 10, other = 9;
    SteadyPhase phase;
    for (int mark = 0; mark < 3; ++mark) {
      compute += 2;
      other += 3;
      phase.mark(
          {{.kind = kStream, .values = std::span(&compute, 1), .joined = joins ? 1U << 3 : 1U << 2},
           {.kind = kStream, .values = std::span(&other, 1), .stream = 3}});
    }
    EXPECT_EQ(phase.can_leave_out(10), !joins);
  }
}

TEST(SteadyPhase, KnowsWhetherAllGoAtOnePace) {
  EXPECT_TRUE(Marked({.stream_s = {1, 2, 3}, .awaited_s = {0, 0, 0}, .sum_s = {0, 0, 0}})
                  .phase.has_one_pace());
  double slow = 0, fast = 0, still = 7;
  SteadyPhase phase;
  for (int mark = 0; mark < 3; ++mark) {
    slow += 2;
    fast += 1;
    phase.mark({{.kind = kStream, .role = 0, .values = std::span(&slow, 1)},
                {.kind = kStream, .role = 1, .values = std::span(&fast, 1)},
                {.kind = kStream, .role = 1, .values = std::span(&still, 1), .stream = 1}});
  }
  EXPECT_EQ(phase.period_s(), 2);
  EXPECT_FALSE(phase.has_one_pace());
  EXPECT_FALSE(phase.can_leave_out(1));  // messages go both ways between the two
}

}  // namespace
}  // namespace ergometer::engine
