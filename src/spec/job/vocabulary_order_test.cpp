#include "spec/job/vocabulary_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "spec/job/stage_order.h"

namespace ergometer::spec {
namespace {

using Slots = std::vector<ScheduleSlot>;

Parallelism pipeline(int64_t stages, VocabularyParallel vocabulary) {
  Parallelism parallel;
  parallel.pp = stages;
  parallel.vocabulary = vocabulary;
  return parallel;
}

/// "F0 S0 F1 B0": a stage's slots and passes (L, S, T, G) in order.
std::string told(const Parallelism& parallel, int64_t stage, int64_t micro_batches) {
  const Slots slots = stage_order(parallel, stage, micro_batches);
  const auto passes = vocabulary_order(parallel, stage, slots);
  std::string text;
  size_t next = 0;
  for (size_t k = 0; k <= slots.size(); ++k) {
    for (; next < passes.size() && passes[next].before == k; ++next) {
      text += "LSTG"[static_cast<size_t>(passes[next].pass)];
      text += std::to_string(passes[next].micro_batch) + " ";
    }
    if (k == slots.size()) break;
    text += slots[k].kind == SlotKind::kForward ? "F" : "B";
    text += std::to_string(slots[k].micro_batch) + " ";
  }
  text.pop_back();
  return text;
}

int64_t most_held(const Slots& slots) {
  int64_t held = 0, most = 0;
  for (const ScheduleSlot& slot : slots)
    most = std::max(most, held += slot.kind == SlotKind::kForward ? 1 : -1);
  return most;
}

// Two stages, F = 1, B = 2. Stage 0 has forwards from 0 and from 1, stage 1 from 1 and from 2, so
// S0 at 2 and S1 at 3 on both, T0 at 3 and T1 at 4. With one barrier stage 1 has B0 from 3 to 5 and
// so T1 behind it, stage 0 at 4 in time; B0 on stage 0 follows from 5 to 7.
TEST(VocabularyOrder, OneBarrierByHand) {
  const Parallelism parallel = pipeline(2, VocabularyParallel::kOneBarrier);
  EXPECT_EQ(told(parallel, 0, 2), "L0 L1 F0 F1 S0 S1 T0 T1 B0 B1 G0 G1");
  EXPECT_EQ(told(parallel, 1, 2), "L0 L1 F0 S0 F1 S1 T0 B0 T1 B1 G0 G1");
}

// With two barriers B0 on stage 1 waits for T0 until 4.
TEST(VocabularyOrder, TwoBarriersByHand) {
  const Parallelism parallel = pipeline(2, VocabularyParallel::kTwoBarriers);
  EXPECT_EQ(told(parallel, 0, 2), "L0 L1 F0 F1 S0 S1 T0 T1 B0 B1 G0 G1");
  EXPECT_EQ(told(parallel, 1, 2), "L0 L1 F0 S0 F1 S1 T0 T1 B0 B1 G0 G1");
}

// Interlaced, two stages: the first micro batch is through its forwards after an interval; stage 0
// begins intervals with forwards, stage 1 with backwards.
TEST(VocabularyOrder, InterlacedByHand) {
  const Parallelism parallel = pipeline(2, VocabularyParallel::kInterlaced);
  EXPECT_EQ(told(parallel, 0, 2), "L0 F0 L1 S0 T0 F1 S1 T1 B0 G0 B1 G1");
  EXPECT_EQ(told(parallel, 1, 2), "L0 F0 L1 S0 T0 B0 F1 S1 T1 B1 G0 G1");
}

// arXiv 2411.05288: one micro batch more for every barrier; 1.5 p where the vocabulary is
// interlaced.
TEST(VocabularyOrder, MicroBatchesHeld) {
  for (const int64_t p : {2, 4, 8, 16})
    for (int64_t stage = 0; stage < p; ++stage) {
      const auto held = [&](VocabularyParallel vocabulary) {
        return most_held(stage_order(pipeline(p, vocabulary), stage, 4 * p));
      };
      EXPECT_EQ(held(VocabularyParallel::kNone), p - stage);
      EXPECT_EQ(held(VocabularyParallel::kOneBarrier), p - stage + 1);
      EXPECT_EQ(held(VocabularyParallel::kTwoBarriers), p - stage + 2);
      if (stage > 0) continue;
      EXPECT_EQ(held(VocabularyParallel::kInterlaced), p + p / 2);
    }
}

TEST(VocabularyOrder, EveryPassOnceAndInOrder) {
  for (const auto vocabulary : {VocabularyParallel::kOneBarrier, VocabularyParallel::kTwoBarriers,
                                VocabularyParallel::kInterlaced})
    for (const int64_t p : {2, 3, 5, 8})
      for (const int64_t m : {1, 2, 7, 20})
        for (int64_t stage = 0; stage < p; ++stage) {
          const Parallelism parallel = pipeline(p, vocabulary);
          const auto passes = vocabulary_order(parallel, stage, stage_order(parallel, stage, m));
          EXPECT_EQ(std::ssize(passes), 4 * m);
          int32_t next[4] = {};
          for (const VocabularySlot& pass : passes)
            EXPECT_EQ(pass.micro_batch, next[static_cast<size_t>(pass.pass)]++);
        }
}

}  // namespace
}  // namespace ergometer::spec
