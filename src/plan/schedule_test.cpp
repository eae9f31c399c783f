#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "plan/test_job.h"

namespace ergometer::plan {
namespace {

using test::make_job;

/// "F0 B0 W0": kind and micro batch; with chunks "F0.1", micro batch 0 of chunk 1.
std::string text(const std::vector<ScheduleSlot>& slots, bool chunks = false) {
  std::string out;
  for (const ScheduleSlot& slot : slots) {
    if (!out.empty()) out += ' ';
    out += slot.kind == SlotKind::kForward          ? 'F'
           : slot.kind == SlotKind::kBackwardWeight ? 'W'
                                                    : 'B';
    out += std::to_string(slot.micro_batch);
    if (chunks) out += '.' + std::to_string(slot.chunk);
  }
  return out;
}

/// The most (micro batch, chunk) activations alive at once under that order, from forward to the
/// (weight) backward that frees them, and the largest number per chunk at that moment.
struct InFlight {
  int64_t total = 0;
  std::vector<int64_t> per_chunk;
};

InFlight in_flight(const std::vector<ScheduleSlot>& slots, int64_t chunks) {
  const bool no_backward = std::ranges::all_of(
      slots, [](const ScheduleSlot& s) { return s.kind == SlotKind::kForward; });
  std::vector<int64_t> alive(static_cast<size_t>(chunks), 0);
  InFlight most{0, alive};
  int64_t total = 0;
  for (const ScheduleSlot& slot : slots) {
    int64_t& of_chunk = alive[static_cast<size_t>(slot.chunk)];
    if (slot.kind == SlotKind::kForward) {
      ++of_chunk;
      if (++total > most.total) most = {total, alive};
    }
    const bool frees =
        no_backward || slot.kind == SlotKind::kBackward || slot.kind == SlotKind::kBackwardWeight;
    if (frees) {
      --of_chunk;
      --total;
    }
  }
  return most;
}

TEST(Schedule, OneFOneBWithThreeStagesAndFourMicroBatches) {
  const spec::Job job = make_job({.pp = 3, .micro_batches = 4});
  EXPECT_EQ(text(schedule(job, 0)), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text(schedule(job, 1)), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text(schedule(job, 2)), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(Schedule, OneFOneBWithFewerMicroBatchesThanStages) {
  const spec::Job job = make_job({.pp = 4, .micro_batches = 2});
  EXPECT_EQ(text(schedule(job, 0)), "F0 F1 B0 B1");
  EXPECT_EQ(text(schedule(job, 2)), "F0 F1 B0 B1");
  EXPECT_EQ(text(schedule(job, 3)), "F0 B0 F1 B1");
}

TEST(Schedule, GpipeRunsAllForwardsFirst) {
  spec::Job job = make_job({.pp = 2, .micro_batches = 3});
  job.parallelism.schedule = spec::Schedule::kGpipe;
  EXPECT_EQ(text(schedule(job, 0)), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text(schedule(job, 1)), "F0 F1 F2 B0 B1 B2");
}

// Two stages, two chunks, groups of two micro batches: forwards 0.0 1.0 0.1 1.1 2.0 3.0 2.1 3.1,
// backwards the same with the chunks swapped. Warm-up 2(p-r-1) + (v-1)p: four on stage 0, two on
// stage 1.
TEST(Schedule, InterleavedWalksTheTableOfGroups) {
  const spec::Job job = make_job({.pp = 2, .vpp = 2, .micro_batches = 4});
  EXPECT_EQ(text(schedule(job, 0), true),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(text(schedule(job, 1), true),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST(Schedule, InterleavedGroupsMayBeLargerThanThePipelineAndTheLastOneSmaller) {
  spec::Job job = make_job({.pp = 2, .vpp = 2, .micro_batches = 5});
  job.parallelism.microbatch_group = 3;
  // Warm-up on the last stage: (v - 1) * 3 = 3.
  EXPECT_EQ(text(schedule(job, 1), true),
            "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.0 B0.0 F4.0 B1.0 F3.1 B2.0 F4.1 B3.1 "
            "B4.1 B3.0 B4.0");
}

// Stage r puts weight gradients off by r micro batches.
TEST(Schedule, ZeroBubbleH1PutsWeightGradientsOff) {
  spec::Job job = make_job({.pp = 3, .micro_batches = 4});
  job.parallelism.schedule = spec::Schedule::kZbH1;
  EXPECT_EQ(text(schedule(job, 0)), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(text(schedule(job, 1)), "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3");
  EXPECT_EQ(text(schedule(job, 2)), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
}

TEST(Schedule, InferenceOnlyGoesForward) {
  spec::Job job = make_job({.pp = 2, .micro_batches = 3});
  job.training.mode = spec::Mode::kDecode;
  EXPECT_EQ(text(schedule(job, 0)), "F0 F1 F2");
  EXPECT_EQ(in_flight(schedule(job, 0), 1).total, 1);
}

// training-step.md section 3, the table's last column.
TEST(InFlight, EqualsTheTableOfSchedules) {
  for (int64_t p : {1, 2, 3, 4, 8}) {
    for (int64_t m : {1, 2, 5, 8, 16}) {
      spec::Job job = make_job({.pp = p, .micro_batches = m});
      for (int64_t r = 0; r < p; ++r) {
        job.parallelism.schedule = spec::Schedule::kOneFOneB;
        EXPECT_EQ(in_flight(schedule(job, r), 1).total, std::min(p - r, m));
        job.parallelism.stage_training = spec::StageTraining::kLocalHeads;
        EXPECT_EQ(in_flight(schedule(job, r), 1).total, 1);
        job.parallelism.stage_training = spec::StageTraining::kTogether;
        job.parallelism.schedule = spec::Schedule::kGpipe;
        EXPECT_EQ(in_flight(schedule(job, r), 1).total, m);
        job.parallelism.schedule = spec::Schedule::kZbH1;
        EXPECT_EQ(in_flight(schedule(job, r), 1).total, std::min(p, m));
      }
    }
  }
}

/// The most activations alive on any stage, counted in chunks.
int64_t most_in_flight(spec::Schedule schedule_of, int64_t stages, int64_t chunks,
                       int64_t batches) {
  spec::Job job = make_job({.pp = stages, .vpp = chunks, .micro_batches = batches});
  job.parallelism.schedule = schedule_of;
  int64_t most = 0;
  for (int64_t r = 0; r < stages; ++r)
    most = std::max(most, in_flight(schedule(job, r), chunks).total);
  return most;
}

// Peaks of the papers: arXiv 2401.10241 (ZB-H2, ZB-V), 2405.15362 (V-Half, V-Min), 2412.19437
// (DualPipe, whose p' are the 2p parts here), 2211.05953 (breadth first).
TEST(InFlight, EqualsThePapers) {
  for (const int64_t p : {2, 3, 4, 5, 6, 7, 8, 9, 12})
    for (const int64_t m : {3 * p, 5 * p}) {
      EXPECT_EQ(most_in_flight(spec::Schedule::kZbH2, p, 1, m), 2 * p - 1) << p;
      EXPECT_EQ(most_in_flight(spec::Schedule::kLoopedBfs, p, 2, m), 2 * m) << p;
      EXPECT_EQ(most_in_flight(spec::Schedule::kZbV, p, 2, m), 2 * p) << p;
      EXPECT_EQ(most_in_flight(spec::Schedule::kVHalf, p, 2, m), 2 * ((p + 2) / 2)) << p;
      EXPECT_EQ(most_in_flight(spec::Schedule::kVMin, p, 2, m), 2 * ((p + 4) / 3)) << p;
      EXPECT_EQ(most_in_flight(spec::Schedule::kDualPipeV, p, 2, m), 2 * p + 1) << p;
    }
}

TEST(InFlight, InterleavingKeepsWarmUpChunksAndOne) {
  for (int64_t p : {2, 4}) {
    for (int64_t v : {2, 3, 5}) {
      for (int64_t groups : {1, 2, 4}) {
        const spec::Job job = make_job({.pp = p, .vpp = v, .micro_batches = groups * p});
        for (int64_t r = 0; r < p; ++r) {
          const InFlight most = in_flight(schedule(job, r), v);
          EXPECT_EQ(most.total, std::min(2 * (p - r - 1) + (v - 1) * p + 1, groups * p * v));
          int64_t sum = 0;
          for (const int64_t of_chunk : most.per_chunk) sum += of_chunk;
          EXPECT_EQ(sum, most.total);
        }
      }
    }
  }
  // Two stages, two chunks: stage 0 holds micro batches 0, 1, 2 in chunk 0 and 0, 1 in chunk 1.
  const InFlight most =
      in_flight(schedule(make_job({.pp = 2, .vpp = 2, .micro_batches = 4}), 0), 2);
  EXPECT_EQ(most.per_chunk, (std::vector<int64_t>{3, 2}));
}

/// Ends of all stages' slots when transfers are free and a chunk's forward, input gradient and
/// weight gradient take the given times.
struct Timed {
  double forward, backward_input, backward_weight;

  double step(const spec::Job& job) const {
    const int64_t p = job.parallelism.pp, v = job.parallelism.vpp;
    std::map<std::tuple<bool, int64_t, int32_t>, double>
        done;  // (forward?, virtual stage, micro batch)
    std::vector<std::vector<ScheduleSlot>> orders;
    for (int64_t r = 0; r < p; ++r) orders.push_back(schedule(job, r));
    std::vector<size_t> at(static_cast<size_t>(p), 0);
    std::vector<double> clock(static_cast<size_t>(p), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t r = 0; r < p; ++r) {
        const auto stage = static_cast<size_t>(r);
        for (; at[stage] < orders[stage].size(); ++at[stage], moved = true) {
          const ScheduleSlot& slot = orders[stage][at[stage]];
          const bool is_forward = slot.kind == SlotKind::kForward;
          const int64_t q = slot.chunk * p + r, from = is_forward ? q - 1 : q + 1;
          const bool waits = slot.kind != SlotKind::kBackwardWeight && from >= 0 && from < p * v;
          if (waits) {
            const auto found = done.find({is_forward, from, slot.micro_batch});
            if (found == done.end()) break;
            clock[stage] = std::max(clock[stage], found->second);
          }
          clock[stage] += duration(slot.kind);
          if (slot.kind != SlotKind::kBackwardWeight)
            done[{is_forward, q, slot.micro_batch}] = clock[stage];
        }
      }
    }
    for (size_t r = 0; r < at.size(); ++r)
      EXPECT_EQ(at[r], orders[r].size()) << "deadlock on stage " << r;
    return *std::max_element(clock.begin(), clock.end());
  }
  double duration(SlotKind kind) const {
    switch (kind) {
      case SlotKind::kForward: return forward;
      case SlotKind::kBackward: return backward_input + backward_weight;
      case SlotKind::kBackwardInput: return backward_input;
      case SlotKind::kBackwardWeight: return backward_weight;
    }
    return 0;
  }
};

TEST(Schedule, BubblesEqualTheory) {
  const Timed timed{1, 1, 1};
  for (int64_t p : {1, 2, 3, 4, 8}) {
    for (int64_t m : {8, 16, 24}) {
      spec::Job job = make_job({.pp = p, .micro_batches = m});
      const auto fill = static_cast<double>(p - 1), work = static_cast<double>(m) * 3;
      EXPECT_DOUBLE_EQ(timed.step(job) - work, fill * 3) << p << ' ' << m;
      job.parallelism.schedule = spec::Schedule::kGpipe;
      EXPECT_DOUBLE_EQ(timed.step(job) - work, fill * 3);
      job.parallelism.schedule = spec::Schedule::kZbH1;
      EXPECT_DOUBLE_EQ(timed.step(job) - work, fill * 1);
    }
  }
  for (int64_t v : {2, 3}) {
    const spec::Job job = make_job({.pp = 4, .vpp = v, .micro_batches = 8});
    EXPECT_DOUBLE_EQ(timed.step(job) - 8.0 * 3 * static_cast<double>(v), 3 * 3.0);
  }
}

}  // namespace
}  // namespace ergometer::plan
