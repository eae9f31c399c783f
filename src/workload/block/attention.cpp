#include "workload/block/attention.h"

#include "workload/block/linear.h"
#include "workload/block/modules.h"
#include "workload/matrices.h"

namespace ergometer::workload {
namespace {

// Passes over the data that rotary embedding costs as separate PyTorch operators against one fused
// kernel.
constexpr int kUnfusedRopePasses = 5;

void set_lora(const BlockWriter& writer, Linear& linear, bool column) {
  const Shapes& shapes = writer.shapes();
  adapt(writer, linear, shapes.kv_heads * shapes.qk_dim);
  const double tp = static_cast<double>(shapes.tp);
  (column ? linear.lora_in_repeats : linear.lora_out_repeats) = tp;
}

bool overlapped(const BlockWriter& writer) {
  return writer.job().training.overlap_tp && writer.shapes().sequence_parallel;
}

/// Heads of the output gate on this rank, each as wide as a head.
int64_t gate_heads(const BlockWriter& writer) {
  return writer.model().attention_gate ? writer.shapes().heads : 0;
}

/// Qwen3-Next multiplies the core's output by a sigmoid of further columns of the QKV projection.
void output_gate(BlockWriter& writer, Pass pass) {
  const Shapes& shapes = writer.shapes();
  if (!writer.model().attention_gate) return;
  const bool backward = pass == Pass::kBackward;
  writer.memory({Module::kAttention, backward ? "attention_gate_backward" : "attention_gate",
                 (backward ? 5 : 3) * shapes.element *
                     static_cast<double>(shapes.tokens * shapes.heads * shapes.v_dim)},
                pass);
}

Linear qkv_linear(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  const spec::Model& model = writer.model();
  Linear linear =
      make_linear(writer, "qkv", Module::kAttention, shapes.hidden,
                  (gate_heads(writer) + shapes.heads + 2 * shapes.kv_heads) * shapes.qk_dim);
  linear.model_out = static_cast<double>(gate_heads(writer) * model.head_dim) +
                     static_cast<double>((model.heads + 2 * model.kv_heads) * model.head_dim) /
                         static_cast<double>(shapes.tp);
  linear.fused_cast = writer.job().training.fp8_recipe == spec::Fp8Recipe::kDelayed;
  linear.overlap = overlapped(writer);
  set_lora(writer, linear, true);
  return linear;
}

Linear proj_linear(const BlockWriter& writer) {
  const Shapes& shapes = writer.shapes();
  Linear linear =
      make_linear(writer, "proj", Module::kAttention, shapes.heads * shapes.v_dim, shapes.hidden);
  linear.overlap = overlapped(writer) && writer.model().attention == spec::AttentionKind::kHeads;
  set_lora(writer, linear, false);
  return linear;
}

/// The norms of queries and keys (Qwen3) and the rotary embedding read and write both once.
double query_key_bytes(const Shapes& shapes) {
  return 2 * shapes.element *
         static_cast<double>(shapes.tokens * (shapes.heads + shapes.kv_heads) * shapes.qk_dim);
}

void rope(BlockWriter& writer, double bytes, Pass pass) {
  if (writer.model().positions != spec::PositionKind::kRotary) return;
  const char* name = pass == Pass::kBackward ? "rope_backward" : "rope";
  if (writer.shapes().modules) {
    const double elements = bytes / (2 * writer.shapes().element);
    const ModuleWork work = module_rope(writer, elements, pass == Pass::kBackward);
    return writer.memory({Module::kAttention, name, work.moved, work.kernels}, pass);
  }
  const int passes = writer.job().training.fused_rope ? 1 : kUnfusedRopePasses;
  writer.memory({Module::kAttention, name, passes * bytes, 2 * passes}, pass);
}

void joined_backward(BlockWriter& writer, const Linear& qkv) {
  if (!writer.shapes().modules) return;
  const ModuleWork work =
      module_parts_backward(writer, qkv.rows * static_cast<double>(qkv.out), false);
  if (work.moved.bytes > 0)
    writer.memory({Module::kAttention, "qkv_join_backward", work.moved, work.kernels},
                  Pass::kBackward);
}

void query_key_norms(BlockWriter& writer, Pass pass) {
  if (!writer.model().qk_norm) return;
  const bool backward = pass == Pass::kBackward;
  if (writer.shapes().modules) {
    const double elements = query_key_bytes(writer.shapes()) / (2 * writer.shapes().element);
    const ModuleWork work =
        backward ? module_norm_backward(writer, elements) : module_norm(writer, elements);
    return writer.memory(
        {Module::kNorm, backward ? "qk_norm_backward" : "qk_norm", work.moved, 2 * work.kernels},
        pass);
  }
  writer.memory({Module::kNorm, backward ? "qk_norm_backward" : "qk_norm",
                 (backward ? 1.5 : 1.0) * query_key_bytes(writer.shapes()), 2},
                pass);
}

/// Inference appends its keys and values to the cache.
void cache_write(BlockWriter& writer, int64_t width) {
  if (!writer.job().is_inference()) return;
  const Shapes& shapes = writer.shapes();
  writer.memory({Module::kAttention, "kv_cache_write",
                 2 * shapes.element * static_cast<double>(shapes.tokens * width)});
}

void core_backward(BlockWriter& writer, int64_t window) {
  if (recomputes(writer.job(), "core_attn")) {
    BlockWriter again = writer.recomputing();
    attention_core_forward(again, window);
  }
  attention_core_backward(writer, window);
}

void heads_forward(BlockWriter& writer, int64_t window, AttentionEdges edges) {
  column_forward(writer, qkv_linear(writer), edges.gather);
  query_key_norms(writer, writer.pass());
  rope(writer, query_key_bytes(writer.shapes()), writer.pass());
  const Shapes& shapes = writer.shapes();
  cache_write(writer, shapes.kv_heads * (shapes.qk_dim + shapes.v_dim));
  attention_core_forward(writer, window);
  output_gate(writer, writer.pass());
  row_forward(writer, proj_linear(writer), edges.reduce);
}

void heads_backward(BlockWriter& writer, int64_t window, AttentionEdges edges) {
  row_backward(writer, proj_linear(writer), edges.reduce);
  output_gate(writer, Pass::kBackward);
  core_backward(writer, window);
  rope(writer, query_key_bytes(writer.shapes()), Pass::kBackward);
  query_key_norms(writer, Pass::kBackward);
  joined_backward(writer, qkv_linear(writer));
  column_backward(writer, qkv_linear(writer), {edges.gather, true, edges.add_to_gradient});
}

// Latent attention. The down projections' weights are whole on every TP rank and run on the
// sequence shards; what they produce is gathered (narrow: the ranks of the compression) before the
// column-parallel up projections.

Linear down_linear(const BlockWriter& writer, const char* name, int64_t out) {
  const Shapes& shapes = writer.shapes();
  Linear linear = make_linear(writer, name, Module::kAttention, shapes.hidden, out);
  linear.rows = static_cast<double>(shapes.shard_tokens);
  linear.model_rows = linear.rows * shapes.token_share();
  linear.fused_cast = writer.job().training.fp8_recipe == spec::Fp8Recipe::kDelayed;
  adapt(writer, linear);
  return linear;
}

Linear up_linear(const BlockWriter& writer, const char* name, int64_t in, int64_t head_width) {
  Linear linear =
      make_linear(writer, name, Module::kAttention, in, writer.shapes().heads * head_width);
  set_lora(writer, linear, true);
  return linear;
}

void latent_norm(BlockWriter& writer, const char* name, int64_t width, Pass pass) {
  const double elements = static_cast<double>(writer.shapes().shard_tokens * width);
  writer.memory(
      {Module::kNorm, name, (pass == Pass::kBackward ? 3 : 2) * writer.shapes().element * elements},
      pass);
}

/// Reads and writes the queries and assembles every head's key from its own part and the shared
/// rotary part.
double latent_rope_bytes(const Shapes& shapes) {
  return 4 * shapes.element * static_cast<double>(shapes.tokens * shapes.heads * shapes.qk_dim);
}

double rotary_key_bytes(const BlockWriter& writer) {
  return writer.shapes().element *
         static_cast<double>(writer.shapes().tokens * writer.model().latent.qk_rope_dim);
}

void latent_up_forward(BlockWriter& writer) {
  const spec::LatentAttention& mla = writer.model().latent;
  if (mla.q_rank > 0)
    column_forward(writer, up_linear(writer, "q_up", mla.q_rank, writer.shapes().qk_dim));
  column_forward(writer, up_linear(writer, "kv_up", mla.kv_rank, mla.qk_nope_dim + mla.v_dim));
  rope(writer, latent_rope_bytes(writer.shapes()), writer.pass());
}

void latent_forward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const spec::LatentAttention& mla = writer.model().latent;
  if (mla.q_rank > 0) {
    linear_forward(writer, down_linear(writer, "q_down", mla.q_rank));
    latent_norm(writer, "q_norm", mla.q_rank, writer.pass());
  } else {
    column_forward(writer, up_linear(writer, "q", shapes.hidden, shapes.qk_dim));
  }
  linear_forward(writer, down_linear(writer, "kv_down", mla.kv_rank + mla.qk_rope_dim));
  latent_norm(writer, "kv_norm", mla.kv_rank, writer.pass());
  if (shapes.sequence_parallel)
    tensor_gather(writer, Module::kAttention, rotary_key_bytes(writer), writer.pass());
  latent_up_forward(writer);
  cache_write(writer, mla.kv_rank + mla.qk_rope_dim);
  const bool decodes = writer.job().training.mode == spec::Mode::kDecode;
  decodes ? absorbed_core(writer, window) : attention_core_forward(writer, window);
  row_forward(writer, proj_linear(writer));
}

void latent_backward(BlockWriter& writer, int64_t window) {
  const Shapes& shapes = writer.shapes();
  const spec::LatentAttention& mla = writer.model().latent;
  row_backward(writer, proj_linear(writer));
  if (recomputes(writer.job(), "mla_up_proj")) {
    BlockWriter again = writer.recomputing();
    latent_up_forward(again);
  }
  core_backward(writer, window);
  rope(writer, latent_rope_bytes(shapes), Pass::kBackward);
  column_backward(writer, up_linear(writer, "kv_up", mla.kv_rank, mla.qk_nope_dim + mla.v_dim));
  tensor_reduce(writer, Module::kAttention, rotary_key_bytes(writer), Pass::kBackward);
  latent_norm(writer, "kv_norm_backward", mla.kv_rank, Pass::kBackward);
  linear_backward(writer, down_linear(writer, "kv_down", mla.kv_rank + mla.qk_rope_dim));
  if (mla.q_rank > 0) {
    column_backward(writer, up_linear(writer, "q_up", mla.q_rank, shapes.qk_dim));
    latent_norm(writer, "q_norm_backward", mla.q_rank, Pass::kBackward);
    linear_backward(writer, down_linear(writer, "q_down", mla.q_rank));
  } else {
    column_backward(writer, up_linear(writer, "q", shapes.hidden, shapes.qk_dim));
  }
  // Queries and keys start from the same input: their gradients of it are added.
  writer.memory({Module::kAttention, "branch_grad_add",
                 3 * shapes.element * static_cast<double>(shapes.shard_tokens * shapes.hidden)},
                Pass::kBackward);
}

}  // namespace

void attention_forward(BlockWriter& writer, int64_t window, AttentionEdges edges) {
  if (writer.model().attention == spec::AttentionKind::kLatent)
    return latent_forward(writer, window);
  heads_forward(writer, window, edges);
}

void attention_backward(BlockWriter& writer, int64_t window, AttentionEdges edges) {
  if (writer.model().attention == spec::AttentionKind::kLatent)
    return latent_backward(writer, window);
  heads_backward(writer, window, edges);
}

}  // namespace ergometer::workload
