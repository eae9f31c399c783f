#include <fmt/format.h>

#include <algorithm>

#include "launch/megatron.h"

namespace ergometer::launch {
namespace {

using spec::Model;

tl::unexpected<base::Error> megatron_cannot(const Model& model, std::string_view what) {
  return input_error("{}: Megatron-LM's arguments cannot say a model with {}", model.name, what);
}

bool any_layer(const Model& model, bool (*is)(const spec::Layer&)) {
  return std::ranges::any_of(model.layers, is);
}

Result<void> check_megatron_model(const Model& model) {
  if (model.vision != nullptr) return megatron_cannot(model, "a vision tower");
  if (model.state_space.heads > 0 ||
      any_layer(model, [](const spec::Layer& l) { return l.mixer != spec::Mixer::kAttention; }))
    return megatron_cannot(model, "state-space layers (pretrain_mamba.py takes another set)");
  if (any_layer(model, [](const spec::Layer& l) { return !l.feed_forward; }))
    return megatron_cannot(model, "layers without a feed-forward part");
  if (any_layer(model, [](const spec::Layer& l) { return l.window > 0 || l.chunk > 0; }))
    return megatron_cannot(model, "sliding or chunked attention");
  if (model.parallel_branches) return megatron_cannot(model, "attention and MLP side by side");
  if (model.norms_per_layer != 2) return megatron_cannot(model, "more than two norms a layer");
  if (model.wide_qk_norm)
    return megatron_cannot(model, "a norm of queries and keys over all heads");
  if (model.embedding_norm) return megatron_cannot(model, "a norm behind the embedding");
  if (model.norm == spec::NormKind::kLayerNorm && !model.norm_bias)
    return megatron_cannot(model, "LayerNorm without a bias");
  if (model.attention_gate) return megatron_cannot(model, "gated attention");
  if (model.attention_sinks) return megatron_cannot(model, "attention sinks");
  if (model.embedding_dim != model.hidden) return megatron_cannot(model, "a projected embedding");
  if (model.experts.latent > 0) return megatron_cannot(model, "latent experts");
  if (model.positions == spec::PositionKind::kAlibi) return megatron_cannot(model, "ALiBi");
  const bool biases = model.out_bias || model.mlp_bias;
  if (model.out_bias != model.mlp_bias || (biases && !model.qkv_bias) || model.head_bias)
    return megatron_cannot(model, "biases in some of its linear layers");
  if (model.gated != (model.activation == spec::Activation::kSilu) &&
      model.activation != spec::Activation::kSquaredRelu)
    return megatron_cannot(model, "this activation");
  return {};
}

void add_attention(const Model& model, Arguments& to) {
  to.add("num-attention-heads", model.heads);
  if (model.attention == spec::AttentionKind::kLatent) {
    to.add_if(true, "multi-latent-attention");
    if (model.latent.q_rank > 0) to.add("q-lora-rank", model.latent.q_rank);
    to.add("kv-lora-rank", model.latent.kv_rank);
    to.add("qk-head-dim", model.latent.qk_nope_dim);
    to.add("qk-pos-emb-head-dim", model.latent.qk_rope_dim);
    to.add("v-head-dim", model.latent.v_dim);
  } else {
    if (model.kv_heads != model.heads) {
      to.add_if(true, "group-query-attention");
      to.add("num-query-groups", model.kv_heads);
    }
    if (model.head_dim * model.heads != model.hidden) to.add("kv-channels", model.head_dim);
  }
  to.add_if(model.qk_norm, "qk-layernorm");
  to.add_if(model.qkv_bias && !model.out_bias, "add-qkv-bias");
}

/// "([0]*3+[1]*58)": runs of dense and expert layers.
std::string layer_frequency(const Model& model) {
  std::string text = "(";
  for (size_t i = 0; i < model.layers.size();) {
    size_t end = i;
    while (end < model.layers.size() && model.layers[end].moe == model.layers[i].moe) ++end;
    text += fmt::format("{}[{}]*{}", i > 0 ? "+" : "", model.layers[i].moe ? 1 : 0, end - i);
    i = end;
  }
  return text + ')';
}

void add_experts(const Model& model, Arguments& to) {
  const spec::Experts& e = model.experts;
  to.add("num-experts", e.count);
  to.add("moe-router-topk", e.top_k);
  to.add("moe-ffn-hidden-size", e.ffn);
  if (e.shared_ffn > 0) to.add("moe-shared-expert-intermediate-size", e.shared_ffn);
  to.add_if(e.shared_gate, "moe-shared-expert-gate");
  to.add_if(e.router_bias, "moe-router-enable-expert-bias");
  if (e.groups > 1) {
    to.add("moe-router-num-groups", e.groups);
    to.add("moe-router-group-topk", e.group_top_k);
  }
  if (any_layer(model, [](const spec::Layer& l) { return !l.moe; }))
    to.add("moe-layer-freq", layer_frequency(model));
}

}  // namespace

Result<Arguments> megatron_model(const Model& model) {
  ERGOMETER_TRY(check_megatron_model(model));
  Arguments to;
  to.add("num-layers", model.layer_count());
  to.add("hidden-size", model.hidden);
  to.add("ffn-hidden-size", model.ffn);
  add_attention(model, to);
  // OPT's table has two rows more than its positions.
  to.add("max-position-embeddings", std::max(model.max_positions, model.position_rows));
  to.add("vocab-size", model.vocab);
  to.add_if(model.gated, "swiglu");
  to.add_if(model.activation == spec::Activation::kSquaredRelu, "squared-relu");
  to.add("normalization", model.norm == spec::NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm");
  to.add_if(!model.mlp_bias, "disable-bias-linear");
  to.add_if(!model.tied_embeddings, "untie-embeddings-and-output-weights");
  to.add("position-embedding-type", model.positions == spec::PositionKind::kRotary ? "rope"
                                    : model.positions == spec::PositionKind::kNone
                                        ? "none"
                                        : "learned_absolute");
  to.add("hidden-dropout", fmt::format("{}", model.dropout));
  to.add("attention-dropout", fmt::format("{}", model.dropout));
  if (model.experts.count > 0) add_experts(model, to);
  if (model.mtp_layers > 0) to.add("mtp-num-layers", model.mtp_layers);
  return to;
}

}  // namespace ergometer::launch
