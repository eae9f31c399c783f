#pragma once

#include <vector>

#include "plan/memory.h"

// The pieces of `memory()`, one file each. All in bytes on one rank.
namespace ergometer::plan {

/// Ranks over which sharded states of dense and of expert parameters are divided; 1 without
/// sharding.
struct Shards {
  double dense = 1, expert = 1;
};

struct StateMemory {
  double weights = 0;     ///< parameters, and FP8 copies that are kept beside them
  double fp8_copies = 0;  ///< of `weights`
  double gradients = 0;   ///< but for those that `appear_in_backward`
  double optimizer = 0;
  double step = 0;        ///< alive only from the optimizer step on
  double after_step = 0;  ///< of `step`, what is still alive when the step has ended
};
StateMemory state_memory(const spec::Job& job, const workload::Workload& workload,
                         const Stage& stage);

/// Whether a step begins without gradients: PyTorch's `zero_grad` frees them, and with one micro
/// batch none is there before the backward of its layer. Megatron and DeepSpeed keep buffers.
bool gradients_appear_in_backward(const spec::Job& job);
/// Gradients of `share` on a rank, bytes, once they are there.
double gradient_bytes(const spec::Job& job, const workload::ParameterShare& share);
/// Of an embedding that is the head too PyTorch has two gradients: the head's waits through
/// backward for the embedding's, is summed with it and is then the parameter's.
struct TiedGradients {
  double waiting = 0;  ///< the head's, bytes
  double sum = 0;      ///< beside both, where they are not added in place
};
TiedGradients tied_gradients(const spec::Job& job);
/// What gradients that appear in backward have PyTorch's allocator reserve beyond a peak that they
/// lift by `lift`: it keeps the memory that they had in the step before, as if they were there all
/// the time. 0 for gradients that last. On one H100 (tests/data/h100) it had reserved 3 % less than
/// peak, reserve and this together to 11 % more.
double cached_gradients(const spec::Job& job, const workload::ParameterShare& share, double lift);

/// Buffers that are no model state and do not depend on the schedule.
struct BufferMemory {
  double dummy_gradients = 0;  ///< Transformer Engine's, one a distinct weight shape
  double gathered = 0;         ///< whole units of sharded parameters and gradients
  double tensor = 0;           ///< persistent buffers of tensor-parallel collectives
  double workspace = 0;        ///< the constant rest
  double kv_cache = 0;
  double total() const { return dummy_gradients + gathered + tensor + workspace + kv_cache; }
};
BufferMemory buffer_memory(const spec::Job& job, const workload::Workload& workload,
                           const Stage& stage);

/// What one micro batch of a chunk holds between forward and backward, and how a backward moves
/// away from it.
struct ChunkMemory {
  double kept = 0;  ///< after forward
  double kept_logits = 0;
  double forward = 0;        ///< most above `kept` while forward runs
  double backward = 0;       ///< most above `kept` while backward runs
  double backward_loss = 0;  ///< of that peak, the loss's share of transients
  double freed_logits = 0;   ///< logits that are gone at that peak
  double gradients = 0;      ///< of that peak, gradients that backward has made by then
  double gradient_lift = 0;  ///< how much lower it were if backward made none
};
/// `member`: of the expert-parallel group; without one, that whose experts keep most in the chunk.
ChunkMemory chunk_memory(const spec::Job& job, const workload::Workload& workload,
                         const Chunk& chunk);
ChunkMemory chunk_memory(const spec::Job& job, const workload::Workload& workload,
                         const Chunk& chunk, int64_t member);

/// Peak of what forward leaves for backward, over the stage's schedule.
struct ActivationMemory {
  double activations = 0;
  double loss = 0;                                    ///< logits and what the loss makes of them
  double gradients = 0;                               ///< made by the backward that is at its peak
  double gradient_lift = 0;                           ///< how much lower the peak were without
  std::vector<std::pair<std::string, double>> parts;  ///< of `activations`
  double total() const { return activations + loss + gradients; }
};
ActivationMemory activation_memory(const spec::Job& job, const workload::Workload& workload,
                                   const Stage& stage, int64_t stage_index);

}  // namespace ergometer::plan
