#include "spec/job/stage_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "spec/job/job_words.h"
#include "spec/settings/schedule_file.h"

namespace ergometer::spec {
namespace {

Parallelism pipeline(Schedule schedule, int64_t stages) {
  Parallelism parallel;
  parallel.schedule = schedule;
  parallel.pp = stages;
  parallel.vpp = suits(schedule, 1) ? 1 : 2;
  return parallel;
}

std::vector<Schedule> all_schedules() {
  std::vector<Schedule> all;
  for (int i = 0; i < static_cast<int>(Schedule::kFile); ++i)
    all.push_back(static_cast<Schedule>(i));
  return all;
}

/// The stages' lines, without the two above them.
std::string lines(Schedule schedule, int64_t stages, int64_t micro_batches) {
  const std::string text =
      schedule_text(pipeline_order(pipeline(schedule, stages), micro_batches), "x");
  return text.substr(text.find('\n', text.find('\n') + 1) + 1);
}

// Reading checks that every micro batch is there once a part and that nobody waits for ever.
TEST(StageOrder, IsWholeAndEndsWhateverItsSize) {
  for (const Schedule schedule : all_schedules())
    for (const int64_t p : {2, 3, 4, 5, 8})
      for (const int64_t m : {1, 2, 3, 5, 8, 9, 16, 24, 40}) {
        if (m < least_micro_batches(schedule, p)) continue;
        if (schedule == Schedule::kInterleaved && m % p != 0) continue;
        const PipelineOrder order = pipeline_order(pipeline(schedule, p), m);
        const std::string text = schedule_text(order, to_word(schedule));
        const auto read = parse_schedule(text);
        ASSERT_TRUE(read.has_value())
            << to_word(schedule) << ' ' << p << ' ' << m << ": " << read.error().message;
        EXPECT_EQ(read->order, order);
        EXPECT_EQ(schedule_text(read->order, to_word(schedule)), text);
        EXPECT_EQ(read->micro_batches, m);
      }
}

// By hand, two stages. ZB-H2: stage 0 runs 3 forwards before its first backward, stage 1 puts two
// weight gradients off.
TEST(StageOrder, ZeroBubbleH2) {
  EXPECT_EQ(lines(Schedule::kZbH2, 2, 4),
            "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3\n"
            "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3\n");
}

TEST(StageOrder, LoopedBfsTakesAllThroughAChunkBeforeTheNext) {
  EXPECT_EQ(lines(Schedule::kLoopedBfs, 2, 2),
            "F0 F1 F0.1 F1.1 B0.1 B1.1 B0 B1\n"
            "F0 F1 F0.1 F1.1 B0.1 B1.1 B0 B1\n");
}

// The smallest step that is full: 2p - 1 micro batches.
TEST(StageOrder, ZeroBubbleV) {
  EXPECT_EQ(lines(Schedule::kZbV, 2, 3),
            "F0 F1 F2 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 I0 W0 F2.1 I2.1 W2.1 I1 W1 I2 W2\n"
            "F0 F0.1 F1 F1.1 I0.1 W0.1 F2 I0 W0 F2.1 I1.1 W1.1 I1 I2.1 I2 W1 W2.1 W2\n");
}

// Stage 0 runs F0 at moment 0, F0.1 at 3, I0.1 at 4 and I0 at 7, which is moment 1 modulo 6; W0.1
// and W0 take the moments 5 and 8. Micro batch 1 does the same six moments later.
TEST(StageOrder, VMinRepeatsItsBuildingBlock) {
  EXPECT_EQ(lines(Schedule::kVMin, 2, 2),
            "F0 F0.1 I0.1 W0.1 F1 I0 W0 F1.1 I1.1 W1.1 I1 W1\n"
            "F0 F0.1 I0.1 I0 F1 F1.1 W0.1 W0 I1.1 I1 W1.1 W1\n");
}

/// The end of a step in which every slot takes its time, and a pair that overlaps takes `pair_s` as
/// a whole: a forward and the whole backward behind it in DualPipe's middle.
class PairClock {
 public:
  PairClock(const Parallelism& parallel, int64_t micro_batches, double pair_s)
      : parallel_(parallel),
        pair_s_(pair_s),
        forward_(static_cast<size_t>(parallel.parts() * micro_batches), -1),
        backward_(forward_) {
    for (int64_t stage = 0; stage < parallel.pp; ++stage)
      slots_.push_back(stage_order(parallel, stage, micro_batches));
  }

  /// Of the stage that waits longest: others have fewer pairs.
  double bubble_s() {
    std::vector<size_t> at(slots_.size(), 0);
    std::vector<double> clock(slots_.size(), 0), work(slots_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t stage = 0; stage < slots_.size(); ++stage)
        while (at[stage] < slots_[stage].size()) {
          const size_t count = is_pair(stage, at[stage]) ? 2 : 1;
          const double s = count == 2 ? pair_s_ : seconds(slots_[stage][at[stage]]);
          double start = clock[stage];
          for (size_t i = 0; i < count; ++i)
            start = std::max(start, ready(stage, slots_[stage][at[stage] + i]));
          if (start >= kNever) break;
          clock[stage] = start + s;
          work[stage] += s;
          for (size_t i = 0; i < count; ++i) end(stage, slots_[stage][at[stage]++], clock[stage]);
          moved = true;
        }
    }
    const double step = *std::max_element(clock.begin(), clock.end());
    return step - *std::min_element(work.begin(), work.end());
  }

 private:
  static constexpr double kNever = 1e9;
  static double seconds(const ScheduleSlot& slot) {
    return slot.kind == SlotKind::kBackward ? 2 : 1;
  }
  bool is_pair(size_t stage, size_t k) const {
    const auto& slots = slots_[stage];
    if (pair_s_ <= 0 || k + 1 == slots.size() || slots[k].kind != SlotKind::kForward ||
        slots[k + 1].kind != SlotKind::kBackward)
      return false;
    // The last stage's first two stay apart.
    return stage + 1 < slots_.size() || slots[k + 1].micro_batch > 0 || slots[k + 1].chunk == 0;
  }
  size_t at(int64_t part, const ScheduleSlot& slot) const {
    return static_cast<size_t>(slot.micro_batch * parallel_.parts() + part);
  }
  int64_t part(size_t stage, const ScheduleSlot& slot) const {
    return parallel_.part_of(static_cast<int64_t>(stage), slot.chunk);
  }
  double ready(size_t stage, const ScheduleSlot& slot) const {
    const int64_t here = part(stage, slot);
    const auto when = [](double s) { return s < 0 ? kNever : s; };
    if (slot.kind == SlotKind::kBackwardWeight) return when(backward_[at(here, slot)]);
    if (slot.kind == SlotKind::kForward) return here == 0 ? 0 : when(forward_[at(here - 1, slot)]);
    const bool last = here + 1 == parallel_.parts();
    return std::max(when(forward_[at(here, slot)]), last ? 0 : when(backward_[at(here + 1, slot)]));
  }
  void end(size_t stage, const ScheduleSlot& slot, double s) {
    if (slot.kind == SlotKind::kForward) forward_[at(part(stage, slot), slot)] = s;
    if (slot.kind == SlotKind::kBackward || slot.kind == SlotKind::kBackwardInput)
      backward_[at(part(stage, slot), slot)] = s;
  }

  Parallelism parallel_;
  double pair_s_;
  std::vector<double> forward_, backward_;
  std::vector<std::vector<ScheduleSlot>> slots_;
};

// DeepSeek-V3's table 2 (arXiv 2412.19437) counts p' = 2p parts: (p'/2 - 1)(F&B + B - 3W), where
// F&B is what an overlapped pair takes.
TEST(StageOrder, DualPipeVHasTheTablesBubbleWhereItsPairsOverlap) {
  for (const int64_t p : {2, 3, 4, 8})
    for (const int64_t m : {2 * p, 4 * p})
      for (const double pair : {2.0, 2.5, 3.0})
        EXPECT_NEAR(PairClock(pipeline(Schedule::kDualPipeV, p), m, pair).bubble_s(),
                    static_cast<double>(p - 1) * (pair + 2 - 3), 1e-9)
            << p << ' ' << m << ' ' << pair;
}

}  // namespace
}  // namespace ergometer::spec
