#pragma once

#include "base/quantity.h"
#include "spec/job/job.h"

namespace ergometer::workload {

/// The model's own matrix work of one step (forward and backward for training, forward for
/// inference) over all ranks: Megatron-Core's formula since 0.12, causal attention at half,
/// vocabulary projection included; `training.attention_flops_full` counts both sides of
/// the diagonal: the whole square of a document, or within a window as much again. Documents count
/// each for its own tokens and length, packed or not, without padding (frameworks count a packed
/// sequence as one document, which can make more than the GPU's peak). Equals the sum of
/// `model_flops` over the step's operators and ranks exactly, but for documents of unlike length.
base::Flops model_flops_per_step(const spec::Job& job);

/// What is executed: the same plus what recomputation repeats, and with padding: of samples, and of
/// experts to their capacity. Attention counts as its kernels compute it, whatever
/// `attention_flops_full` says: one side of the diagonal, or the whole square where they skip
/// nothing (unfused ones, and windows that are masks). Not counted: scores that a fused kernel's
/// backward makes once more, and tiles on the diagonal.
base::Flops hardware_flops_per_step(const spec::Job& job);

}  // namespace ergometer::workload
