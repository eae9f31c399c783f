#pragma once

#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// A tile's patches made tokens of the tower: one product, the positions. The writer's job is the
/// tower's (workload/vision.h), as its layers' are.
void patches_forward(BlockWriter& writer, const spec::Vision& vision);
void patches_backward(BlockWriter& writer, const spec::Vision& vision);

/// The tower's output merged to tokens of the decoder, a norm, two matrices with an activation
/// between them, divided over tensor parallelism as an MLP. Backward has the input's gradient too.
void projector_forward(BlockWriter& writer, const spec::Vision& vision);
void projector_backward(BlockWriter& writer, const spec::Vision& vision);

/// What the two keep for their backward passes.
ActivationShare patch_activations(const Shapes& shapes, const spec::Vision& vision);
ActivationShare projector_activations(const Shapes& shapes, const spec::Vision& vision);

}  // namespace ergometer::workload
