#include "workload/block/eager.h"

#include "workload/block/modules.h"

namespace ergometer::workload {
namespace {

/// Bytes: queries, keys and values read and written where one product made them; with projections
/// of their own two sums for attention and one for a gated MLP, each of two read, one written.
double input_gradient_bytes(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  const double width =
      norms_in_fp32(shapes, writer.model()) && shapes.modules ? 4 / shapes.element : 1;
  if (writer.model().gated) return (2 + 1) * 3 * width * shapes.stream_bytes();
  return 2 * shapes.element *
         static_cast<double>(shapes.tokens * (shapes.heads + 2 * shapes.kv_heads) * shapes.qk_dim);
}

/// Bytes: the output gradients that are read for the sums of biases.
double bias_gradient_bytes(const BlockWriter& writer, const spec::Layer& layer) {
  const Shapes& shapes = writer.shapes();
  const spec::Model& model = writer.model();
  const double token = shapes.element * static_cast<double>(shapes.tokens);
  double width = 0;
  if (model.qkv_bias)
    width += static_cast<double>((shapes.heads + 2 * shapes.kv_heads) * shapes.qk_dim);
  if (model.out_bias) width += static_cast<double>(shapes.hidden);
  if (model.mlp_bias && !layer.moe)
    width += static_cast<double>((model.gated ? 2 : 1) * model.ffn / shapes.tp + shapes.hidden);
  return token * width;
}

}  // namespace

void eager_backward(BlockWriter& writer, const spec::Layer& layer) {
  if (writer.job().training.framework != spec::Framework::kTorchFsdp || writer.shapes().lora)
    return;
  const double shard = writer.shapes().element * writer.shapes().shard_elements();
  writer.memory({Module::kAttention, "input_grad_joins", input_gradient_bytes(writer), 2},
                Pass::kBackward);
  if (!writer.shapes().modules)
    writer.memory({Module::kNorm, "norm_wgrad", 2 * 2 * shard, 2}, Pass::kWeight);
  const double biases = bias_gradient_bytes(writer, layer);
  if (biases > 0) writer.memory({Module::kMlp, "bias_wgrad", biases, 4}, Pass::kWeight);
}

}  // namespace ergometer::workload
