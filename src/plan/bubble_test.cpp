#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/plan.h"
#include "plan/test_job.h"

// The pipeline bubble of whole programs, transfers included in their places, when transfers take no
// time and all stages are alike: it must be the schedule's own, in line or overlapped.

namespace ergometer::plan {
namespace {

/// End of every role's program: a layer's forward, input gradient and weight gradient take 1 each,
/// a transfer takes `transfer`, everything else nothing.
class Clockwork {
 public:
  Clockwork(const Plan& plan, double transfer)
      : plan_(plan),
        transfer_(transfer),
        at_(plan.roles.size(), 0),
        streams_(plan.roles.size(), std::vector<double>(workload::kStreamCount, 0)),
        left_(static_cast<size_t>(plan.messages), -1) {
    for (const Role& role : plan.roles) events_.emplace_back(static_cast<size_t>(role.events), 0);
  }

  double step() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t role = 0; role < at_.size(); ++role) {
        while (at_[role] < plan_.roles[role].program.size() && run(role)) moved = true;
      }
    }
    double end = 0;
    for (size_t role = 0; role < at_.size(); ++role) {
      EXPECT_EQ(at_[role], plan_.roles[role].program.size());
      end = std::max(end, streams_[role][0]);
    }
    return end;
  }

 private:
  bool run(size_t role) {
    const Instruction& it = plan_.roles[role].program[at_[role]];
    double& clock = streams_[role][static_cast<size_t>(it.stream)];
    const auto slot = static_cast<size_t>(it.slot);
    switch (it.kind) {
      case InstructionKind::kCompute: clock += it.layer >= 0 ? 1 : 0; break;
      case InstructionKind::kSend:
        left_[slot] = clock;
        clock += transfer_;
        break;
      case InstructionKind::kRecv:
        if (left_[slot] < 0) return false;
        clock = std::max(clock, left_[slot]) + transfer_;
        break;
      case InstructionKind::kJoin:
        clock = std::max(clock, streams_[role][static_cast<size_t>(it.on)]);
        break;
      case InstructionKind::kRecord: events_[role][slot] = clock; break;
      case InstructionKind::kWait: clock = std::max(clock, events_[role][slot]); break;
      case InstructionKind::kCollective:
      case InstructionKind::kWorld:
      case InstructionKind::kArrive:
      case InstructionKind::kHostSync: break;
    }
    ++at_[role];
    return true;
  }

  const Plan& plan_;
  double transfer_;
  std::vector<size_t> at_;
  std::vector<std::vector<double>> streams_, events_;
  std::vector<double> left_;
};

double step(const spec::Job& job, double transfer = 0) {
  return Clockwork(make_plan(job, test::fake_workload(job)), transfer).step();
}

TEST(Bubble, IsTheSchedulesOwnWhereverTransfersStand) {
  for (const bool overlap : {false, true}) {
    for (const int64_t p : {1, 2, 3, 4, 8}) {
      for (const int64_t m : {8, 16, 24}) {
        spec::Job job = test::make_job({.pp = p, .micro_batches = m, .layers = p});
        job.training.overlap_p2p = overlap;
        const auto fill = static_cast<double>(p - 1), work = static_cast<double>(m) * 3;
        EXPECT_DOUBLE_EQ(step(job), work + fill * 3) << p << ' ' << m << ' ' << overlap;
        job.parallelism.schedule = spec::Schedule::kGpipe;
        EXPECT_DOUBLE_EQ(step(job), work + fill * 3) << p << ' ' << m << ' ' << overlap;
        job.parallelism.schedule = spec::Schedule::kZbH1;
        EXPECT_DOUBLE_EQ(step(job), work + fill * 1) << p << ' ' << m << ' ' << overlap;
      }
    }
  }
}

TEST(Bubble, InterleavingDividesItByTheChunks) {
  for (const bool overlap : {false, true}) {
    for (const int64_t p : {2, 3, 4, 8}) {
      for (const int64_t v : {2, 3, 4}) {
        for (const int64_t groups : {1, 2, 4}) {
          spec::Job job =
              test::make_job({.pp = p, .vpp = v, .micro_batches = p * groups, .layers = p * v});
          job.training.overlap_p2p = overlap;
          const auto chunks = static_cast<double>(p * groups * v);
          EXPECT_DOUBLE_EQ(step(job), chunks * 3 + static_cast<double>(p - 1) * 3)
              << p << ' ' << v << ' ' << groups << ' ' << overlap;
        }
      }
    }
  }
}

// Two layers a stage, one a chunk: what engine/time/bubble_test.cpp has in units of a stage.
TEST(Bubble, OfAVIsTheSchedulesOwnToo) {
  for (const bool overlap : {false, true})
    for (const int64_t p : {2, 3, 4, 8})
      for (const int64_t m : {2 * p, 5 * p}) {
        spec::Job job = test::make_job({.pp = p, .vpp = 2, .micro_batches = m, .layers = 2 * p});
        job.training.overlap_p2p = overlap;
        const auto work = static_cast<double>(m) * 6;
        const auto bubble = [&](spec::Schedule schedule) {
          job.parallelism.schedule = schedule;
          return step(job) - work;
        };
        EXPECT_DOUBLE_EQ(bubble(spec::Schedule::kZbV), static_cast<double>(p - 1)) << p << ' ' << m;
        EXPECT_DOUBLE_EQ(bubble(spec::Schedule::kDualPipeV), static_cast<double>(p - 1));
        EXPECT_DOUBLE_EQ(bubble(spec::Schedule::kVMin),
                         static_cast<double>(4 * p - (p % 3 == 0 ? 3 : 5)));
      }
}

// Two stages, two micro batches, a transfer of 0.1. In line: stage 0 runs F0 0-1, sends,
// F1 1.1-2.1; stage 1 gets F0 at 1.1, ends B0 at 4.1, exchanges until 4.2, ends B1 at 7.2; stage 0
// gets it at 7.3 and ends at 9.3. Overlapped: F1 runs 1-2 and reaches stage 1 while that computes;
// B0 ends at 4.1, B1 at 7.1, the step at 9.2.
TEST(Bubble, TransfersAddWhatTheyExpose) {
  spec::Job job = test::make_job({.pp = 2, .micro_batches = 2, .layers = 2});
  EXPECT_DOUBLE_EQ(step(job, 0.1), 9.3);
  job.training.overlap_p2p = true;
  EXPECT_DOUBLE_EQ(step(job, 0.1), 9.2);
}

// In line every one of 16 micro batches x 2 chunks pays for its exchanges; overlapped only the
// warm-up, the cool-down and the first and last transfers are exposed, which do not grow with the
// micro batches.
TEST(Bubble, OverlapHidesTransfersInTheSteadyState) {
  const auto exposed = [](bool overlap, int64_t micro_batches) {
    spec::Job job =
        test::make_job({.pp = 2, .vpp = 2, .micro_batches = micro_batches, .layers = 4});
    job.training.overlap_p2p = overlap;
    return step(job, 0.1) - step(job);
  };
  EXPECT_GE(exposed(false, 16), 16 * 2 * 0.1);
  EXPECT_NEAR(exposed(true, 32), exposed(true, 16), 1e-9);
  EXPECT_LT(exposed(true, 16), 1);
}

}  // namespace
}  // namespace ergometer::plan
