#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ergometer::campaign {

/// A stretch of decoding on one replica: `steps` tokens of each of `active` samples, whose prompts
/// and answers are then `context` tokens long, in the mean.
struct DecodeStretch {
  int64_t steps = 0;
  double active = 0, context = 0;
  bool tail = false;  ///< less than half of the most that were ever active are left
};

/// How a replica decodes answers of these lengths, as vLLM's continuous batching does: at most
/// `slots` at a time, the next in line as soon as one has ended, so that the longest holds the
/// batch. Told in few stretches: one ends where less than half of the samples with which it began
/// are left, where the tail begins, or after an eighth of all steps.
///
/// Worked: answers of 2, 4 and 8 tokens, two slots, prompts of 10: two decode for 2 steps, then the
/// third beside the second for 2, then alone for 6: 10 steps, of which the last 6 hold one.
std::vector<DecodeStretch> decode_stretches(std::span<const int64_t> lengths, int64_t slots,
                                            double prompt);

/// All steps of it.
int64_t decode_steps(std::span<const int64_t> lengths, int64_t slots);

}  // namespace ergometer::campaign
