#pragma once

#include <string_view>

#include "workload/block/block_writer.h"

namespace ergometer::workload {

/// What small operators cost where a layer is made of PyTorch modules whose every operator is a
/// kernel of its own, as huggingface/transformers writes them (`Shapes::modules`): what all their
/// kernels move together. Kernels that do not stream count for more than they move (modules.cpp has
/// by how much), in energy as in time.
struct ModuleWork {
  Moved moved;
  int kernels = 1;
};

/// A norm over so many elements, and the gradients of its input and of its weights, if trained.
ModuleWork module_norm(const BlockWriter& writer, double elements);
ModuleWork module_norm_backward(const BlockWriter& writer, double elements);
/// Rotary positions on queries and keys of so many elements.
ModuleWork module_rope(const BlockWriter& writer, double elements, bool backward);
/// The gradient of a product of so many elements, of whose parts those of queries, keys and values
/// are made, or of gate and up (`gate`): nothing where each has a matrix of its own.
ModuleWork module_parts_backward(const BlockWriter& writer, double elements, bool gate);
/// Softmax in FP32 between two products in 16 bit, over so many scores, scaled and masked before.
ModuleWork module_softmax(const BlockWriter& writer, double scores, bool backward);
/// c tanh(x / c) of so many values, before the softmax of scores or of words.
ModuleWork module_cap(const BlockWriter& writer, double values, bool backward);
/// The activation function between the matrices of an MLP, `elements` of one branch, its product
/// with the other branch among it.
ModuleWork module_activation(const BlockWriter& writer, double elements, bool backward);
/// Rows sorted by expert and gathered, so many elements in all; back in order, weighted and summed;
/// and the function between the experts' matrices, `elements` of one branch. transformers masks the
/// rows of experts that are elsewhere behind every step, though all are here.
ModuleWork module_permute(const BlockWriter& writer, double elements, bool backward);
ModuleWork module_unpermute(const BlockWriter& writer, double elements, bool backward);
ModuleWork module_expert_activation(const BlockWriter& writer, double elements, bool backward);
/// A half's output added to the residual stream; backward: what its gradient is turned into.
ModuleWork module_residual(const BlockWriter& writer, double elements, bool backward);

/// Casts between a norm in FP32 and the linear layers behind it, and back: each has its own.
ModuleWork module_input_casts(const BlockWriter& writer, std::string_view linear, double elements);
ModuleWork module_input_casts_backward(const BlockWriter& writer, std::string_view linear,
                                       double elements);
/// Of weights in FP32: what casts one to 16 bit for a product; bytes, of so many weights.
Moved weight_cast_bytes(double weights);
/// Its gradient cast to FP32, and added to that of the micro batches before.
Moved weight_gradient_bytes(const BlockWriter& writer, double weights);
/// PEFT beside one linear layer: its input cast to the adapter's FP32 and back for the product, the
/// scale and the sum; `in` and `out` elements.
ModuleWork module_adapter(double in, double out, int parts, bool backward);

/// Bytes an element of what a norm keeps for its backward, and GELU written out, besides the output
/// that the next matrix keeps.
double module_norm_keeps(const Shapes& shapes, const spec::Model& model);
double written_gelu_keeps();
/// Whether a norm's output is in FP32, and its own linear layers cast it: that of one over an FP32
/// stream, and under autocast that of every LayerNorm.
bool norms_in_fp32(const Shapes& shapes, const spec::Model& model);

}  // namespace ergometer::workload
