#pragma once

#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// A whole decoder layer.
void layer_forward(BlockWriter& writer, const spec::Layer& layer);
void layer_backward(BlockWriter& writer, const spec::Layer& layer);

/// Copies of activations to the host and back beside the passes of all layers, whose activations
/// are known. Nothing where none wait there.
void copy_activations(const spec::Job& job, const Shapes& shapes, Workload& workload);

/// A norm over the residual stream, and the gradient of one: dx, and the addition of the gradient
/// that came past the branch when `residual`.
void norm_forward(BlockWriter& writer, const char* name, bool feeds_fp8_linear);
void norm_backward(BlockWriter& writer, const char* name, bool residual);

/// Token embedding with positions; output head with loss; multi-token-prediction module.
void embedding_forward(BlockWriter& writer);
void embedding_backward(BlockWriter& writer);
void head_forward(BlockWriter& writer);
void head_backward(BlockWriter& writer);
/// Of a divided vocabulary, the passes of one part.
void vocabulary_input(BlockWriter& writer);
void vocabulary_output(BlockWriter& writer);
void vocabulary_output_gradient(BlockWriter& writer);
void vocabulary_input_gradient(BlockWriter& writer);
void mtp_forward(BlockWriter& writer);
/// What full recomputation repeats of a module: neither its embedding nor its head.
void mtp_layer_forward(BlockWriter& writer);
void mtp_backward(BlockWriter& writer);

}  // namespace ergometer::workload
