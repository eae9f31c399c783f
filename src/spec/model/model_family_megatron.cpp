// Models given as Megatron-LM arguments (`num_layers`, `swiglu`, ...), with Megatron's defaults.

#include <nlohmann/json.hpp>

#include "spec/model/layer_pattern.h"
#include "spec/model/model_families.h"

namespace ergometer::spec {
namespace {

/// Megatron's own rule: 4 h, and with SwiGLU two thirds of it in whole multiples of 64.
int64_t default_ffn(int64_t hidden, bool swiglu) {
  return swiglu ? hidden * 8 / 3 / 64 * 64 : 4 * hidden;
}

void read_shapes(ConfigReader& config, Model& model) {
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"})
    config.required_size(key);
  const bool grouped = config.flag("group_query_attention", false);
  read_sizes(config, {1, 0, 0, 1, 2048}, model);
  const int64_t groups = config.size("num_key_value_heads", 1);
  model.kv_heads = grouped ? groups : model.heads;
  model.gated = config.flag("swiglu", false);
  // A gated one is taken for a relative of Llama.
  model.qkv_matrix = model.gated ? QkvMatrix::kApart : QkvMatrix::kSplit;
  if (!config.has("intermediate_size")) model.ffn = default_ffn(model.hidden, model.gated);
  model.activation = model.gated ? Activation::kSilu : Activation::kGelu;
  if (config.flag("squared_relu", false)) model.activation = Activation::kSquaredRelu;
  if (config.has("hidden_act")) read_activation(config, "gelu", model);
}

void read_biases_and_norms(ConfigReader& config, Model& model) {
  const std::string norm = config.text("normalization", "LayerNorm");
  if (norm != "LayerNorm" && norm != "RMSNorm")
    config.refuse("normalization", "found \"{}\"; allowed: LayerNorm, RMSNorm", norm);
  model.norm = norm == "RMSNorm" ? NormKind::kRmsNorm : NormKind::kLayerNorm;
  model.norm_bias = model.norm == NormKind::kLayerNorm;
  const bool bias = config.flag("add_bias_linear", true);
  model.out_bias = model.mlp_bias = bias;
  model.qkv_bias = bias || config.flag("add_qkv_bias", false);
  model.qk_norm = config.flag("qk_layernorm", false);
  model.parallel_branches = false;
  model.tied_embeddings = !config.flag("untie_embeddings_and_output_weights", false);
  model.dropout = config.real("hidden_dropout", 0.1, 0, 1);
}

/// What the denominator of attention has besides: a logit a head, or one that is always zero, which
/// takes the same kernels.
void read_softmax(ConfigReader& config, Model& model) {
  const std::string kind = config.text("softmax_type", "vanilla");
  if (kind != "vanilla" && kind != "off-by-one" && kind != "learnable")
    config.refuse("softmax_type", "found \"{}\"; allowed: vanilla, off-by-one, learnable", kind);
  model.attention_sinks = kind != "vanilla";
  model.zero_sinks = kind == "off-by-one";
}

void read_position(ConfigReader& config, Model& model) {
  const std::string kind = config.text("position_embedding_type", "learned_absolute");
  if (kind == "learned_absolute")
    model.positions = PositionKind::kLearned;
  else if (kind == "rope" || kind == "mrope" || kind == "yarn")
    model.positions = PositionKind::kRotary;
  else if (kind == "alibi")
    model.positions = PositionKind::kAlibi;
  else if (kind == "none")
    model.positions = PositionKind::kNone;
  else
    config.refuse("position_embedding_type",
                  "found \"{}\"; allowed: learned_absolute, rope, yarn, alibi, none", kind);
  model.position_rows = model.positions == PositionKind::kLearned ? model.max_positions : 0;
}

void read_moe_layers(ConfigReader& config, Model& model) {
  const nlohmann::json* frequency = config.raw("moe_layer_freq");
  if (frequency == nullptr || !frequency->is_string())
    return place_experts(0, config.size("moe_layer_freq", 1), model);
  const std::string& text = frequency->get_ref<const std::string&>();
  const auto pattern = parse_layer_pattern(text, 100'000);
  if (!pattern || pattern->size() != model.layers.size()) {
    config.refuse("moe_layer_freq",
                  "found \"{}\"; allowed: a whole number, or a list of {} entries such "
                  "as ([0]*3+[1]*{})",
                  text, model.layers.size(), model.layer_count() - 3);
    return;
  }
  for (size_t i = 0; i < model.layers.size(); ++i) model.layers[i].moe = (*pattern)[i] != 0;
}

/// A window in all layers, in all but every n-th, or where a list has a one.
void read_attention_window(ConfigReader& config, Model& model) {
  constexpr const char* kSkips = "window_attn_skip_freq";
  const int64_t window = config.count("window_size", 0);
  const nlohmann::json* skips = config.raw(kSkips);
  if (skips == nullptr || !skips->is_string())
    return read_windows(config, window, config.count(kSkips, 0), model);
  const std::string& text = skips->get_ref<const std::string&>();
  const auto slides = parse_layer_pattern(text, 100'000);
  if (!slides || slides->size() != model.layers.size())
    return config.refuse(kSkips,
                         "found \"{}\"; allowed: a whole number, or a list of {} entries such as "
                         "[1,0]*{}",
                         text, model.layers.size(), model.layers.size() / 2);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].window = (*slides)[i] != 0 ? window : 0;
}

void read_experts(ConfigReader& config, Model& model) {
  read_mixture(config, 0, 2, model.ffn, model);
  const int64_t shared = config.count("moe_shared_expert_intermediate_size", 0);
  const bool gate = config.flag("moe_shared_expert_gate", false);
  const bool router_bias = config.flag("moe_router_enable_expert_bias", false);
  if (model.experts.count == 0) return;
  model.experts.shared_ffn = shared;
  model.experts.shared_gate = gate;
  model.experts.router_bias = router_bias;
  model.experts.expert_bias = model.mlp_bias;
  read_moe_layers(config, model);
}

void read_latent(ConfigReader& config, Model& model) {
  if (!config.flag("multi_latent_attention", false)) return;
  model.attention = AttentionKind::kLatent;
  model.latent = {config.count("q_lora_rank", 0), config.size("kv_lora_rank", 32),
                  config.size("qk_head_dim", 128), config.size("qk_pos_emb_head_dim", 64),
                  config.size("v_head_dim", 128)};
  model.kv_heads = model.heads;
  model.head_dim = model.latent.qk_nope_dim + model.latent.qk_rope_dim;
}

}  // namespace

void read_megatron(ConfigReader& config, Model& model) {
  read_shapes(config, model);
  read_biases_and_norms(config, model);
  read_softmax(config, model);
  read_position(config, model);
  read_attention_window(config, model);
  read_latent(config, model);
  read_experts(config, model);
  model.mtp_layers = config.count("num_nextn_predict_layers", 0);
}

}  // namespace ergometer::spec
