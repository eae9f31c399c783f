#pragma once

#include "spec/job/job.h"
#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// Kernels that PyTorch's autograd runs in a layer's backward and that frameworks with kernels of
/// their own have not: gradients of a fused qkv product are joined (of separate projections of one
/// input: added), the weight gradient of a norm reads its input and its output's gradient once
/// more, every bias's gradient is a sum over tokens of its own. Nothing outside PyTorch FSDP.
void eager_backward(BlockWriter& writer, const spec::Layer& layer);

}  // namespace ergometer::workload
