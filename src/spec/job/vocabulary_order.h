#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// What every stage does for a micro batch with its part of a divided vocabulary: it looks words
/// up; multiplies by its part of the output matrix and takes the softmax over it (pass S of arXiv
/// 2411.05288); then the gradients that are left (pass T); then the gradient of its table.
enum class VocabularyPass : uint8_t { kInput, kOutput, kOutputGradient, kInputGradient };

/// A pass and the slot of the stage's order that it runs before; their number: behind all.
struct VocabularySlot {
  VocabularyPass pass = VocabularyPass::kInput;
  int32_t micro_batch = 0;
  size_t before = 0;
};

/// Why this job's vocabulary cannot be divided over its stages, as what a message says of the
/// setting that asks for it; empty: it can.
std::string_view why_vocabulary_is_whole(const Job& job);

/// Micro batches that 1F1B holds more than without a divided vocabulary: one for every barrier
/// between the last forward and the first backward of a micro batch.
int64_t vocabulary_barriers(VocabularyParallel vocabulary);

/// The passes of a stage in the order in which they run between `slots`, its `stage_order`. With
/// barriers they stand where a step of F = 1, B = `backward` and passes without length has them
/// that runs them soon after their input is there. Where backwards take 0.2 F less or 0.4 F more,
/// no stage waits in them; beyond that, some may.
std::vector<VocabularySlot> vocabulary_order(const Parallelism& parallel, int64_t stage,
                                             const std::vector<ScheduleSlot>& slots,
                                             int64_t backward = 2);

/// The order of `kInterlaced`, whose vocabulary all stages work on at once between intervals of one
/// forward and one backward: stages of even number begin with the forward, so that forwards pass
/// two stages an interval, backwards one, and stage 0 holds about 1.5 p micro batches.
std::vector<ScheduleSlot> interlaced_order(int64_t stages, int64_t stage, int64_t micro_batches);

}  // namespace ergometer::spec
