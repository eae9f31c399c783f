#pragma once

#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// A state-space mixer's sizes on one rank: heads and groups are divided over tensor parallelism,
/// groups are held by several ranks when there are fewer of them.
struct StateSpaceShapes {
  int64_t heads = 0, groups = 0;
  int64_t inner = 0;     ///< width of values, gate and output
  int64_t channels = 0;  ///< of the convolution
  int64_t in_width = 0;  ///< of the input projection's output
};
StateSpaceShapes state_space_shapes(const spec::Model& model, const Shapes& shapes);

/// What the chunked scan computes and moves forward, on one rank and for one micro batch.
struct ScanWork {
  double flops = 0;        ///< in matrix form, as executed
  double model_flops = 0;  ///< 7 a token, channel and state, the convention of NVIDIA
  double token_bytes = 0;  ///< inputs and output
  double state_bytes = 0;  ///< one pass over the chunks' states in FP32
};
ScanWork scan_work(const spec::Model& model, const Shapes& shapes);

/// Everything of a layer between its first norm and the first residual add: input projection,
/// convolution, scan, gated norm, output projection, with their tensor- and context-parallel
/// collectives.
void state_space_forward(BlockWriter& writer);
void state_space_backward(BlockWriter& writer);

}  // namespace ergometer::workload
