#pragma once

#include "workload/block/block_writer.h"
#include "workload/block/modules.h"

namespace ergometer::workload {

/// As AttentionEdges, for a dense MLP beside parallel attention.
struct MlpEdges {
  bool gather = true;
  bool reduce_gradient = true;
  bool reduce = true;
};

/// A dense MLP, from the (normed) input to the summed output.
void mlp_forward(BlockWriter& writer, MlpEdges edges = {});
void mlp_backward(BlockWriter& writer, MlpEdges edges = {});

/// A MoE layer's MLP: shared expert, router, dispatch, experts, combine.
void moe_forward(BlockWriter& writer);
void moe_backward(BlockWriter& writer);

/// The shared expert in two halves: gather, FC1 and activation; FC2 and what follows. The MoE layer
/// runs them one after the other or beside its all-to-alls. Backward the second half comes first.
void shared_first_forward(BlockWriter& writer);
void shared_second_forward(BlockWriter& writer);
void shared_second_backward(BlockWriter& writer);
void shared_first_backward(BlockWriter& writer);

/// The activation function between FC1 and FC2, `elements` of one branch.
ModuleWork activation_work(const BlockWriter& writer, double elements, bool backward);

}  // namespace ergometer::workload
