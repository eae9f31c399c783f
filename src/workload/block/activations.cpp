#include <algorithm>
#include <utility>

#include "workload/block/mamba.h"
#include "workload/block/modules.h"
#include "workload/block/moe.h"
#include "workload/matrices.h"
#include "workload/shares.h"
#include "workload/storage.h"

// Bytes a micro batch leaves on one rank between forward and backward: the tensors that autograd
// and Transformer Engine save, one entry each. With n tokens on the rank (n / t where sequence
// parallelism divides them), per token of a dense layer in 16 bit with flash attention:
//
//   2h norm input, 2h QKV input, 2(a+2g)d/t q, k, v, 2ad/t attention output, 4a/t log-sum-exp,
//   2h norm input, 2h FC1 input, 4f/t gate and up (2f/t without gate), 2f/t FC2 input, h a dropout
//   mask; where the gated activation is no kernel of its own, 2f/t more: its output before the
//   product with up ("memory.gate_copies" of the software)
//
// Checked against SimuMax's saved-tensor lists and its measured peaks
// (tests/validation/memory_test.cpp). Linear layers in FP8 keep their inputs in FP8. Worked: 405B,
// n = 4096, t = 1, h = 16384, a = 128, g = 8, d = 128, f = 53248: 4096 * (8*16384 + 2*18432 +
// 2*16384 + 4*128 + 6*53248) = 2,132,803,584 bytes.
//
// A layer keeps its input for its weight's gradient alone. LoRA's frozen ones have none (TE:
// "if weight.requires_grad"; PyTorch's autograd the same), so that only norms, attention and
// activation keep theirs, and an adapter's first matrix its own, in 16 bit and, where sequence
// parallelism divides the tokens, gathered (NeMo's ParallelLinearAdapter).
//
// Attention in FP8, backward included, keeps q, k, v and its output in FP8 (TE's FusedAttnFunc).
namespace ergometer::workload {
namespace {

/// Collects parts; whatever selective recomputation rebuilds is never added.
class Parts {
 public:
  explicit Parts(ActivationShare& share) : share_(share) {}
  void add(std::string name, double bytes) {
    if (bytes <= 0) return;
    share_.kept += bytes;
    share_.parts.emplace_back(std::move(name), bytes);
  }

 private:
  ActivationShare& share_;
};

double tokens(const Shapes& shapes) { return static_cast<double>(shapes.tokens); }

/// Bytes an element of the input takes that a linear layer, or its adapter, saves. bitsandbytes'
/// product with quantized weights saves its input too: from 16 bit to NF4 LitGPT's peaks fall by
/// 12.6 and 13.6 bytes a token, layer and hidden element less than the weights do (Llama 2 7B, Phi
/// 1.5; tests/validation/truth/oom_outcomes.csv).
/// Where norms or adapters are in FP32 each matrix of transformers has a copy of its own.
double linear_input(const spec::Job& job, const Shapes& shapes, std::string_view matrix) {
  const bool adapted = shapes.lora && lora_adapts(job, shapes.adapters, matrix);
  if (shapes.lora && !adapted && !keeps_quantized(job.training, matrix)) return 0;
  const bool apart = shapes.modules && (adapted || norms_in_fp32(shapes, job.model));
  const int copies = !apart    ? 1
                     : adapted ? adapters_of(job, matrix, 0, 0).count
                               : module_parts(job.model, matrix);
  return copies * (shapes.fp8 && !shapes.lora ? shapes.handed_bytes : shapes.element);
}

/// Bytes an element that a norm saves, of its input and of what it is multiplied with.
double norm_input(const spec::Job& job, const Shapes& shapes) {
  return shapes.modules ? module_norm_keeps(shapes, job.model) : shapes.element;
}

/// Tokens of what a column-parallel layer, or its adapter, saves.
double input_rows(const Shapes& shapes) {
  return static_cast<double>(shapes.lora ? shapes.tokens : shapes.shard_tokens);
}

/// Bytes of the residual stream that a column-parallel layer saves as its input.
double stream_input(const spec::Job& job, const Shapes& shapes, std::string_view matrix) {
  return linear_input(job, shapes, matrix) * input_rows(shapes) *
         static_cast<double>(shapes.hidden);
}

/// Bytes an element takes of what attention's backward reads.
double attention_element(const spec::Job& job, const Shapes& shapes) {
  return job.training.fp8_attention ? 1 : shapes.element;
}

void add_core(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  const double heads = static_cast<double>(shapes.heads);
  if (recomputes(job, "core_attn")) return;
  if (spec::is_fused(job.training.attention))
    return parts.add("log_sum_exp", 4 * tokens(shapes) * heads);
  const double scores = tokens(shapes) * static_cast<double>(shapes.key_length) * heads;
  // The softmax's output; with dropout its mask and the dropped copy too.
  parts.add("attention_scores",
            scores * (job.model.dropout > 0 ? 2 * shapes.element + 1 : shapes.element));
  if (!shapes.modules) return;
  // That in FP32, before the cast for the product.
  if (shapes.element < 4) parts.add("softmax_output", 4 * scores);
  if (job.model.capped_scores) parts.add("score_tangents", shapes.element * scores);
}

void add_output(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  const double output = tokens(shapes) * static_cast<double>(shapes.heads * shapes.v_dim);
  const bool ulysses = shapes.cp > 1 && job.parallelism.cp_comm == spec::CpComm::kAllToAll;
  const double read = attention_element(job, shapes), input = linear_input(job, shapes, "proj");
  // Attention's backward reads its output, the projection's weight gradient reads it too: one
  // tensor, unless their formats or the all-to-all make them two.
  parts.add("attention_output", output * read);
  // Heads of which a part was turned are joined head by head, as attention then writes its output.
  const bool by_head = shapes.modules && job.model.positions == spec::PositionKind::kRotary &&
                       job.model.rotary_share < 1;
  if (ulysses || by_head || input != read) parts.add("proj_input", output * input);
}

/// Where transformers multiplies by queries, keys and values in one, the values are a view that
/// keeps the whole product alive, beside the turned queries and keys.
void add_heads(const spec::Job& job, const Shapes& shapes, int64_t window, Parts& parts) {
  parts.add("query_key_value",
            attention_element(job, shapes) * tokens(shapes) *
                static_cast<double>((shapes.heads + 2 * shapes.kv_heads) * shapes.qk_dim));
  if (shapes.modules && job.model.qkv_matrix != spec::QkvMatrix::kApart &&
      job.model.positions == spec::PositionKind::kRotary)
    parts.add("joined_query_key",
              shapes.element * tokens(shapes) *
                  static_cast<double>((shapes.heads + shapes.kv_heads) * shapes.qk_dim));
  // PyTorch turns a mask of yes and no into one of numbers in every layer.
  if (masked_window(shapes, window))
    parts.add("window_mask",
              shapes.element * tokens(shapes) * static_cast<double>(shapes.key_length));
  if (job.model.qk_norm)
    parts.add("qk_norm_input",
              norm_input(job, shapes) * tokens(shapes) *
                  static_cast<double>((shapes.heads + shapes.kv_heads) * shapes.qk_dim));
  add_output(job, shapes, parts);
  add_core(job, shapes, parts);
}

void add_latent(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  const spec::LatentAttention& mla = job.model.latent;
  const double shard = static_cast<double>(shapes.shard_tokens);
  const double compressed = static_cast<double>(mla.q_rank + mla.kv_rank + mla.qk_rope_dim);
  parts.add("latent_norm_inputs", shapes.element * shard * compressed);
  parts.add(
      "latent_up_inputs",
      input_rows(shapes) * (linear_input(job, shapes, "q_up") * static_cast<double>(mla.q_rank) +
                            linear_input(job, shapes, "kv_up") * static_cast<double>(mla.kv_rank)));
  if (!recomputes(job, "mla_up_proj"))
    parts.add("query_key_value",
              attention_element(job, shapes) * tokens(shapes) *
                  static_cast<double>(shapes.heads * (2 * shapes.qk_dim + shapes.v_dim)));
  add_output(job, shapes, parts);
  add_core(job, shapes, parts);
}

double branches(const spec::Model& model) { return model.gated ? 2 : 1; }

/// Tensors as wide as the second matrix's input that an unfused gated activation keeps.
double gate_copies(const spec::Job& job) {
  return job.model.gated ? job.software.parameters.value_or("memory.gate_copies", 0) : 0;
}

/// PyTorch's ReLU needs for its backward its output alone, which the next matrix keeps.
bool keeps_its_output(const spec::Job& job, const Shapes& shapes) {
  return shapes.modules && !shapes.lora && !job.model.gated &&
         job.model.activation == spec::Activation::kRelu;
}

void add_mlp(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  if (recomputes(job, "mlp")) return;
  const double width = tokens(shapes) * static_cast<double>(job.model.ffn / shapes.tp);
  if (shapes.modules && job.model.written_gelu)
    parts.add("written_activation", written_gelu_keeps() * width);
  else if (!keeps_its_output(job, shapes))
    parts.add("fc1_output", shapes.element * branches(job.model) * width);
  parts.add("gate_output", shapes.element * gate_copies(job) * width);
  parts.add("fc2_input", linear_input(job, shapes, "fc2") * width);
}

void add_shared(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  if (recomputes(job, "shared_experts")) return;
  const double width =
      tokens(shapes) * static_cast<double>(job.model.experts.shared_ffn / shapes.tp);
  parts.add("shared_fc1_output", shapes.element * branches(job.model) * width);
  parts.add("shared_gate_output", shapes.element * gate_copies(job) * width);
  parts.add("shared_fc2_input", linear_input(job, shapes, "shared_fc2") * width);
}

void add_moe(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  if (recomputes(job, "moe")) return;
  const MoeRows rows = moe_rows(job, shapes);
  const double width = rows.computed * static_cast<double>(rows.ffn);
  parts.add("router_logits",
            4 * static_cast<double>(shapes.shard_tokens * job.model.experts.count));
  parts.add("expert_fc1_input", linear_input(job, shapes, "expert_fc1") * rows.computed *
                                    static_cast<double>(job.model.expert_hidden()));
  parts.add("expert_latent_inputs",
            linear_input(job, shapes, "expert_latent") * 2 *
                static_cast<double>(shapes.shard_tokens * job.model.experts.latent));
  parts.add("expert_fc1_output", shapes.element * branches(job.model) * width);
  parts.add("expert_gate_output", shapes.element * gate_copies(job) * width);
  if (!recomputes(job, "moe_act"))
    parts.add("expert_fc2_input", linear_input(job, shapes, "expert_fc2") * width);
  parts.add("expert_probabilities", 4 * rows.computed);
  // Weighted behind the second matrix, not before it.
  if (shapes.modules)
    parts.add("expert_output",
              shapes.element * rows.computed * static_cast<double>(job.model.expert_hidden()));
  add_shared(job, shapes, parts);
}

/// The fused kernel keeps the projection's output, whole, and what the scan makes of it; states and
/// convolution are computed again.
void add_state_space(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  const StateSpaceShapes rank = state_space_shapes(job.model, shapes);
  const double inner = tokens(shapes) * static_cast<double>(rank.inner);
  parts.add("in_proj_output", shapes.element * tokens(shapes) * static_cast<double>(rank.in_width));
  parts.add("scan_output", shapes.element * inner);
  parts.add("out_proj_input", linear_input(job, shapes, "out_proj") * inner);
}

void add_mixer(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer, Parts& parts) {
  if (layer.mixer == spec::Mixer::kNone) return;
  if (layer.mixer == spec::Mixer::kStateSpace) return add_state_space(job, shapes, parts);
  job.model.attention == spec::AttentionKind::kLatent
      ? add_latent(job, shapes, parts)
      : add_heads(job, shapes, layer_window(shapes, layer), parts);
}

void add_mixer_input(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer,
                     Parts& parts) {
  const bool scans = layer.mixer == spec::Mixer::kStateSpace;
  parts.add("qkv_input", stream_input(job, shapes, scans ? "in_proj" : "qkv"));
}

void add_feed_input(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer,
                    Parts& parts) {
  if (!layer.moe) return parts.add("fc1_input", stream_input(job, shapes, "fc1"));
  // The router multiplies in 16 bit and has no adapter; shared experts, which read the same
  // tensor, may have one.
  if (!shapes.lora) return parts.add("router_input", shapes.element * shapes.shard_elements());
  if (job.model.experts.shared_ffn > 0)
    parts.add("shared_fc1_input", stream_input(job, shapes, "shared_fc1"));
}

/// Of a layer that is a mixer or a feed-forward part alone: one norm and its linear layer.
void add_half_stream(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer,
                     Parts& parts) {
  const double stream = shapes.shard_elements();
  const bool mixes = layer.mixer != spec::Mixer::kNone;
  const bool rebuilt =
      recomputes(job, "layernorm") || (!mixes && !layer.moe && recomputes(job, "mlp"));
  parts.add(mixes ? "input_norm_input" : "mlp_norm_input", norm_input(job, shapes) * stream);
  if (!rebuilt)
    mixes ? add_mixer_input(job, shapes, layer, parts) : add_feed_input(job, shapes, layer, parts);
  if (job.model.dropout > 0) parts.add("dropout_masks", stream);
}

/// Inputs of norms and of the linear layers behind them.
void add_stream(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer,
                Parts& parts) {
  if (layer.mixer == spec::Mixer::kNone || !layer.feed_forward)
    return add_half_stream(job, shapes, layer, parts);
  const spec::Model& model = job.model;
  const bool one_norm = model.parallel_branches && model.norms_per_layer == 1;
  const bool rebuilt = recomputes(job, "layernorm");
  const double stream = shapes.shard_elements();
  parts.add("input_norm_input", norm_input(job, shapes) * stream);
  if (!rebuilt) add_mixer_input(job, shapes, layer, parts);
  // In parallel branches both norms read the same tensor, unless each casts it; with one norm both
  // linear layers do.
  const bool casts = shapes.modules && shapes.wide_norms && shapes.stream < 4;
  if (!model.parallel_branches || (casts && !one_norm))
    parts.add("mlp_norm_input", norm_input(job, shapes) * stream);
  const bool kept = one_norm && (!shapes.lora || lora_adapts(job, shapes.adapters, "qkv"));
  if (!kept && !rebuilt && !(recomputes(job, "mlp") && !layer.moe))
    add_feed_input(job, shapes, layer, parts);
  if (model.norms_per_layer == 4)
    parts.add("output_norm_inputs", 2 * norm_input(job, shapes) * stream);
  if (model.dropout > 0) parts.add("dropout_masks", (model.parallel_branches ? 1 : 2) * stream);
}

/// LoRA: what its adapters keep, the narrow product between their two matrices.
void add_adapters(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  if (!shapes.lora || !shapes.adapters) return;
  parts.add("adapters", adapters_in_layer(job) * shapes.element * tokens(shapes) *
                            static_cast<double>(job.training.lora_rank));
}

/// The most that is alive beside the kept tensors while the layer's backward runs: the gradient
/// that enters, and in the MLP, whose kept tensors are freed as it goes, the gradients around the
/// activation or the gathered ones.
double layer_transient(const spec::Job& job, const Shapes& shapes, const spec::Layer& layer) {
  const double incoming = shapes.stream * shapes.shard_elements();
  if (!layer.feed_forward) {
    // A state-space mixer's backward holds the states of all chunks and their gradients.
    if (layer.mixer != spec::Mixer::kStateSpace) return incoming;
    const StateSpaceShapes rank = state_space_shapes(job.model, shapes);
    return incoming + 2 * scan_work(job.model, shapes).state_bytes +
           shapes.element * tokens(shapes) * static_cast<double>(rank.in_width);
  }
  if (layer.moe) {
    const MoeRows rows = moe_rows(job, shapes);
    return incoming + shapes.element * rows.computed *
                          static_cast<double>(job.model.expert_hidden() +
                                              static_cast<int64_t>(branches(job.model)) * rows.ffn);
  }
  const double width =
      shapes.element * tokens(shapes) * static_cast<double>(job.model.ffn / shapes.tp);
  const double gathered = shapes.sequence_parallel ? shapes.stream_bytes() : 0;
  return incoming + std::max(branches(job.model) * width, width + gathered);
}

/// A fused linear loss leaves its input's gradient, made in forward, instead of logits; the pieces
/// that it works on hold as many logits together, 16 bit and FP32, as the input has elements.
/// Source: Liger-Kernel, ops/fused_linear_cross_entropy.py.
double piecewise_input(const Shapes& shapes) {
  return static_cast<double>(shapes.tokens) * static_cast<double>(shapes.hidden);
}

/// What the loss keeps of the logits until its backward: TE's the 16-bit logits themselves (their
/// gradient replaces them), the native one an FP32 softmax.
double kept_logits(const spec::Job& job, const Shapes& shapes) {
  if (job.training.linear_cross_entropy) return shapes.element * piecewise_input(shapes);
  const double per_logit = job.training.fused_cross_entropy ? shapes.element : 4;
  return per_logit * tokens(shapes) * static_cast<double>(shapes.vocab);
}

/// And what more is alive while it runs: the gradient; or the 16-bit logits and their FP32 copy,
/// which Megatron-Core from 0.6 on turns into the softmax in its place; or in PyTorch's own loss
/// the FP32 gradients before and behind the softmax, the 16-bit logits freed. Where logits are in
/// FP32, they are their own copy: FP32 tensors are whole fours of these bytes, and only they are
/// left.
double loss_transient(const spec::Job& job, const Shapes& shapes) {
  if (job.training.linear_cross_entropy) return (shapes.element + 4) * piecewise_input(shapes);
  const bool torch = job.training.framework == spec::Framework::kTorchFsdp;
  double per_logit = job.software.parameters.value_or("memory.loss_copies", torch ? 4 + 4 : 2 + 4);
  if (shapes.element == 4) per_logit = 4 * std::floor(per_logit / 4);
  if (job.training.fused_cross_entropy) per_logit = shapes.element;
  return per_logit * tokens(shapes) * static_cast<double>(shapes.vocab);
}

void add_head(const spec::Job& job, const Shapes& shapes, Parts& parts) {
  if (job.model.final_norm)
    parts.add("final_norm_input", norm_input(job, shapes) * shapes.shard_elements());
  if (job.parallelism.divides_vocabulary()) return;
  if (!shapes.lora) parts.add("head_input", shapes.element * shapes.shard_elements());
  parts.add("logits", kept_logits(job, shapes));
  if (shapes.modules && job.model.capped_logits)
    parts.add("logit_tangents",
              shapes.element * tokens(shapes) * static_cast<double>(shapes.vocab));
}

}  // namespace

ActivationShare layer_activations(const spec::Job& job, const Shapes& shapes,
                                  const spec::Layer& layer) {
  ActivationShare share;
  share.transient = layer_transient(job, shapes, layer);
  if (!shapes.training) return share;
  Parts parts(share);
  add_stream(job, shapes, layer, parts);
  add_mixer(job, shapes, layer, parts);
  if (layer.feed_forward) layer.moe ? add_moe(job, shapes, parts) : add_mlp(job, shapes, parts);
  add_adapters(job, shapes, parts);
  share.checkpoint = shapes.stream * shapes.shard_elements();
  return share;
}

void keep_cast_weights(const Shapes& shapes, double weights, ActivationShare& share) {
  if (shapes.autocast) Parts(share).add("cast_weights", shapes.element * weights);
}

ActivationShare embedding_activations(const spec::Job& job, const Shapes& shapes) {
  ActivationShare share;
  if (!shapes.training) return share;
  Parts parts(share);
  parts.add("token_ids", 8 * tokens(shapes));
  if (job.model.dropout > 0) parts.add("dropout_masks", shapes.shard_elements());
  share.checkpoint = share.kept;
  return share;
}

ActivationShare head_activations(const spec::Job& job, const Shapes& shapes) {
  ActivationShare share;
  if (!shapes.training) {
    share.transient = shapes.element * tokens(shapes) * static_cast<double>(shapes.vocab);
    return share;
  }
  Parts parts(share);
  add_head(job, shapes, parts);
  share.checkpoint = share.kept;
  if (!job.parallelism.divides_vocabulary()) share.transient = loss_transient(job, shapes);
  return share;
}

ActivationShare vocabulary_activations(const spec::Job& job, const Shapes& shapes) {
  // The first pass over a micro batch comes before the second over the one before it.
  const double alive = job.parallelism.vocabulary == spec::VocabularyParallel::kInterlaced ? 1 : 2;
  ActivationShare share;
  Parts parts(share);
  parts.add("head_input", alive * shapes.element * shapes.shard_elements());
  parts.add("logits", alive * kept_logits(job, shapes));
  share.transient = loss_transient(job, shapes);
  return share;
}

ActivationShare mtp_activations(const spec::Job& job, const Shapes& shapes,
                                const spec::Layer& layer) {
  ActivationShare share = layer_activations(job, shapes, layer);
  Parts parts(share);
  // Inputs of its two norms and of the projection (2h); its own head keeps as much as the main one.
  parts.add("mtp_inputs", 4 * shapes.element * shapes.shard_elements());
  const double before_head = share.kept;
  add_head(job, shapes, parts);
  const double head = share.kept - before_head;
  // Recomputation rebuilds all between the module's two inputs and its head.
  share.checkpoint = 2 * shapes.element * shapes.shard_elements() + head;
  share.transient = std::max(share.transient, loss_transient(job, shapes));
  return share;
}

}  // namespace ergometer::workload
