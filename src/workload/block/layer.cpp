#include "workload/block/layer.h"

#include "workload/block/attention.h"
#include "workload/block/linear.h"
#include "workload/block/mamba.h"
#include "workload/block/mlp.h"
#include "workload/block/modules.h"

namespace ergometer::workload {
namespace {

/// Bias, dropout and residual addition in one kernel; dropout keeps a one-byte mask.
void residual_add(BlockWriter& writer, const char* name) {
  const Shapes& shapes = writer.shapes();
  if (shapes.modules) {
    const ModuleWork work = module_residual(writer, shapes.shard_elements(), false);
    return writer.memory({Module::kNorm, name, work.moved, work.kernels});
  }
  const double mask = writer.model().dropout > 0 && writer.job().trains() ? 1 : 0;
  writer.memory({Module::kNorm, name, (3 * shapes.element + mask) * shapes.shard_elements()});
}

/// The half's output times a vector, before it is added (InternViT).
void layer_scale(BlockWriter& writer, const char* name, Pass pass) {
  const Shapes& shapes = writer.shapes();
  if (!writer.model().layer_scale) return;
  const double passes = pass == Pass::kBackward ? 3 : 2;
  writer.memory({Module::kNorm, name, passes * shapes.element * shapes.shard_elements()}, pass);
}

/// Without dropout the gradient passes through untouched.
void residual_backward(BlockWriter& writer, const char* name) {
  const Shapes& shapes = writer.shapes();
  if (shapes.modules) {
    const ModuleWork work = module_residual(writer, shapes.shard_elements(), true);
    if (work.moved.bytes > 0)
      writer.memory({Module::kNorm, name, work.moved, work.kernels}, Pass::kBackward);
    return;
  }
  if (writer.model().dropout > 0)
    writer.memory({Module::kNorm, name, (2 * shapes.element + 1) * shapes.shard_elements()},
                  Pass::kBackward);
}

bool has_output_norms(const spec::Model& model) { return model.norms_per_layer == 4; }

/// Attention and MLP read one normed input (Phi) instead of one norm each (GPT-NeoX).
bool shares_norm(const spec::Model& model) {
  return model.parallel_branches && model.norms_per_layer == 1;
}

bool dense_attention(const spec::Model& model) {
  return model.attention == spec::AttentionKind::kHeads;
}

/// Parallel branches need both of them, and an MLP that shares the attention's input.
bool in_parallel(const spec::Model& model, const spec::Layer& layer) {
  return model.parallel_branches && dense_attention(model) && !layer.moe && layer.feed_forward &&
         layer.mixer == spec::Mixer::kAttention;
}

/// Both branches' partial outputs are added before one tensor-parallel reduction (GPT-NeoX's
/// gpt_j_residual).
void parallel_forward(BlockWriter& writer, const spec::Layer& layer) {
  const Shapes& shapes = writer.shapes();
  const bool shared = shares_norm(writer.model());
  norm_forward(writer, "input_norm", true);
  if (shared && shapes.sequence_parallel)
    tensor_gather(writer, Module::kAttention, shapes.stream_bytes(), writer.pass());
  attention_forward(writer, layer_window(writer.shapes(), layer), {!shared, false, false});
  if (!shared) norm_forward(writer, "mlp_norm", true);
  mlp_forward(writer, {!shared, true, false});
  writer.memory({Module::kNorm, "branch_add", 3 * shapes.stream_bytes()});
  tensor_reduce(writer, Module::kMlp, shapes.stream_bytes(), writer.pass());
  residual_add(writer, "residual_add");
}

void recompute_norm(BlockWriter& writer, const char* name, bool feeds_fp8_linear) {
  if (!recomputes(writer.job(), "layernorm")) return;
  BlockWriter again = writer.recomputing();
  norm_forward(again, name, feeds_fp8_linear);
}

void parallel_backward(BlockWriter& writer, const spec::Layer& layer) {
  const Shapes& shapes = writer.shapes();
  const bool shared = shares_norm(writer.model());
  residual_backward(writer, "residual_add_backward");
  if (shapes.sequence_parallel)
    tensor_gather(writer, Module::kMlp, shapes.stream_bytes(), Pass::kBackward);
  recompute_norm(writer, shared ? "input_norm" : "mlp_norm", true);
  mlp_backward(writer, {true, !shared, false});
  if (!shared) {
    norm_backward(writer, "mlp_norm_backward", true);
    recompute_norm(writer, "input_norm", true);
  }
  attention_backward(writer, layer_window(writer.shapes(), layer), {!shared, false, shared});
  norm_backward(writer, "input_norm_backward", true);
}

void mixer_forward(BlockWriter& writer, const spec::Layer& layer) {
  norm_forward(writer, "input_norm", true);
  layer.mixer == spec::Mixer::kStateSpace
      ? state_space_forward(writer)
      : attention_forward(writer, layer_window(writer.shapes(), layer), {});
  if (has_output_norms(writer.model())) norm_forward(writer, "attention_output_norm", false);
  layer_scale(writer, "attention_layer_scale", writer.pass());
  residual_add(writer, "attention_residual_add");
}

void mixer_backward(BlockWriter& writer, const spec::Layer& layer) {
  residual_backward(writer, "attention_residual_add_backward");
  layer_scale(writer, "attention_layer_scale_backward", Pass::kBackward);
  if (has_output_norms(writer.model()))
    norm_backward(writer, "attention_output_norm_backward", false);
  recompute_norm(writer, "input_norm", true);
  layer.mixer == spec::Mixer::kStateSpace
      ? state_space_backward(writer)
      : attention_backward(writer, layer_window(writer.shapes(), layer), {});
  norm_backward(writer, "input_norm_backward", true);
}

void feed_forward_forward(BlockWriter& writer, const spec::Layer& layer) {
  norm_forward(writer, "mlp_norm", !layer.moe);
  layer.moe ? moe_forward(writer) : mlp_forward(writer);
  if (has_output_norms(writer.model())) norm_forward(writer, "mlp_output_norm", false);
  layer_scale(writer, "mlp_layer_scale", writer.pass());
  residual_add(writer, "mlp_residual_add");
}

void feed_forward_backward(BlockWriter& writer, const spec::Layer& layer) {
  residual_backward(writer, "mlp_residual_add_backward");
  layer_scale(writer, "mlp_layer_scale_backward", Pass::kBackward);
  if (has_output_norms(writer.model())) norm_backward(writer, "mlp_output_norm_backward", false);
  recompute_norm(writer, "mlp_norm", !layer.moe);
  layer.moe ? moe_backward(writer) : mlp_backward(writer);
  norm_backward(writer, "mlp_norm_backward", true);
}

}  // namespace

void norm_forward(BlockWriter& writer, const char* name, bool feeds_fp8_linear) {
  const Shapes& shapes = writer.shapes();
  if (shapes.modules) {
    const ModuleWork work = module_norm(writer, shapes.shard_elements());
    return writer.memory({Module::kNorm, name, work.moved, work.kernels});
  }
  double write = shapes.element;
  // With a scale known beforehand the norm writes FP8 itself, transposed as well where GEMMs need
  // it.
  if (feeds_fp8_linear && shapes.fp8 &&
      writer.job().training.fp8_recipe == spec::Fp8Recipe::kDelayed)
    write = shapes.fp8_transposes ? 2 : 1;
  writer.memory({Module::kNorm, name, (shapes.element + write) * shapes.shard_elements()});
}

void norm_backward(BlockWriter& writer, const char* name, bool residual) {
  const Shapes& shapes = writer.shapes();
  const double bytes = 3 * shapes.stream * shapes.shard_elements();
  const ModuleWork work = shapes.modules
                              ? module_norm_backward(writer, shapes.shard_elements())
                              : ModuleWork{bytes, 2};  // dx, and the sum of the weight's gradient
  writer.memory({Module::kNorm, name, work.moved, work.kernels}, Pass::kBackward);
  if (residual) writer.memory({Module::kNorm, "residual_grad_add", bytes}, Pass::kBackward);
}

void layer_forward(BlockWriter& writer, const spec::Layer& layer) {
  if (in_parallel(writer.model(), layer)) return parallel_forward(writer, layer);
  if (layer.mixer != spec::Mixer::kNone) mixer_forward(writer, layer);
  if (layer.feed_forward) feed_forward_forward(writer, layer);
}

void layer_backward(BlockWriter& writer, const spec::Layer& layer) {
  if (in_parallel(writer.model(), layer)) return parallel_backward(writer, layer);
  if (layer.feed_forward) feed_forward_backward(writer, layer);
  if (layer.mixer != spec::Mixer::kNone) mixer_backward(writer, layer);
}

}  // namespace ergometer::workload
