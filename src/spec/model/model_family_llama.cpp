// RMSNorm, rotary positions and a gated MLP: Llama and the families that change a detail of it.
#include "spec/model/model_families.h"

namespace ergometer::spec {

void read_llama_like(ConfigReader& config, const SizeDefaults& defaults, Model& model) {
  read_sizes(config, defaults, model);
  read_activation(config, "silu", model);
  model.gated = true;
  model.norm = NormKind::kRmsNorm;
  model.positions = PositionKind::kRotary;
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
}

void read_llama(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 11008, 32000, 2048, 0, 4096, 32}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
}

void read_granite(ConfigReader& config, Model& model) { read_llama(config, model); }

void read_internlm3(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 2, 10240, 128512, 32768}, model);
  model.qkv_bias = config.flag("qkv_bias", false);
  model.out_bias = model.mlp_bias = config.flag("bias", false);
}

void read_ernie4_5(ConfigReader& config, Model& model) {
  read_llama_like(config, {16, 2, 3072, 103424, 131072, 128}, model);
  model.qkv_bias = model.out_bias = model.mlp_bias = config.flag("use_bias", false);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
}

/// Baichuan's 7B has rotary positions, of which its file says how many; its 13B has ALiBi.
void read_baichuan(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 11008, 125696, 4096}, model);
  model.qkv_matrix = QkvMatrix::kSliced;
  if (!config.has("max_position_embeddings")) {
    model.positions = PositionKind::kAlibi;
    model.max_positions = config.size("model_max_length", 4096);
  }
}

/// Norms without parameters.
void read_olmo(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 11008, 50304, 2048}, model);
  model.norm = NormKind::kLayerNorm;
  model.norm_weight = false;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
}

/// Norms stand behind attention and MLP, which costs the same; that of queries and keys is over all
/// heads.
void read_olmo2(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 11008, 50304, 2048}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = model.wide_qk_norm = true;
}

/// Norms of queries and keys over all heads, as OLMo 2; `intermediate_size` is an expert's, and no
/// expert is shared. The weights of the chosen experts are not scaled to one, which costs nothing.
void read_olmoe(ConfigReader& config, Model& model) {
  read_llama_like(config, {16, 0, 2048, 50304, 4096}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = model.wide_qk_norm = true;
  read_mixture(config, 64, 8, model.ffn, model);
  place_experts(0, 1, model);
}

/// MiniMax-M2: norms of queries and keys over all heads, and a routing bias an expert, for which
/// `intermediate_size` is said. Its modules for multi-token prediction are not read.
void read_minimax_m2(ConfigReader& config, Model& model) {
  read_llama_like(config, {48, 8, 1536, 200064, 196608, 128}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = model.wide_qk_norm = config.flag("use_qk_norm", true);
  read_mixture(config, 256, 8, model.ffn, model);
  model.experts.router_bias = config.flag("use_routing_bias", true);
  place_experts(0, 1, model);
}

/// Command R: LayerNorm without bias, one for both branches; norms of queries and keys have weights
/// of every head.
void read_cohere(ConfigReader& config, Model& model) {
  read_llama_like(config, {64, 0, 22528, 256000, 8192}, model);
  model.norm = NormKind::kLayerNorm;
  model.parallel_branches = true;
  model.norms_per_layer = 1;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = model.qk_norm_by_head = config.flag("use_qk_norm", false);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
}

void read_cohere2(ConfigReader& config, Model& model) {
  read_cohere(config, model);
  read_windows(config, config.count("sliding_window", 4096),
               config.count("sliding_window_pattern", 4), model);
}

void read_mistral(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 8, 14336, 32000, 131072, 0, 4096, 32}, model);
  const int64_t window =
      config.is_null("sliding_window") ? 0 : config.count("sliding_window", 4096);
  read_windows(config, window, 0, model);
}

void read_mixtral(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 8, 14336, 32000, 131072}, model);
  read_windows(config, config.count("sliding_window", 0), 0, model);
  read_mixture(config, 8, 2, model.ffn, model);
  place_experts(0, 1, model);
}

namespace {

/// Qwen's windows are off unless asked for, and then only from `max_window_layers` on.
void read_qwen_windows(ConfigReader& config, int64_t default_first, Model& model) {
  const bool on = config.flag("use_sliding_window", false);
  const int64_t window = config.count("sliding_window", 4096);
  const int64_t first = config.count("max_window_layers", default_first);
  if (config.has("layer_types")) return read_windows(config, on ? window : 0, 1, model);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].window = on && static_cast<int64_t>(i) >= first ? window : 0;
}

/// Every `decoder_sparse_step`-th layer has experts, except those in `mlp_only_layers`.
void place_qwen_experts(ConfigReader& config, Model& model) {
  const int64_t step = config.size("decoder_sparse_step", 1);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].moe = model.experts.count > 0 && (static_cast<int64_t>(i) + 1) % step == 0;
  for (const int64_t layer : config.counts("mlp_only_layers"))
    if (layer < model.layer_count()) model.layers[static_cast<size_t>(layer)].moe = false;
}

}  // namespace

void read_qwen2(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 32, 22016, 151936, 32768}, model);
  model.qkv_bias = true;
  read_qwen_windows(config, 28, model);
}

void read_qwen2_moe(ConfigReader& config, Model& model) {
  read_llama_like(config, {16, 16, 5632, 151936, 32768}, model);
  model.qkv_bias = config.flag("qkv_bias", true);
  read_qwen_windows(config, 28, model);
  read_mixture(config, 60, 4, 1408, model);
  model.experts.shared_ffn = config.count("shared_expert_intermediate_size", 5632);
  model.experts.shared_gate = model.experts.shared_ffn > 0;
  place_qwen_experts(config, model);
}

void read_qwen3(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 32, 22016, 151936, 32768, 128}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = true;
  read_qwen_windows(config, 28, model);
}

/// Seed-OSS: biases of queries, keys and values and of the output are said apart.
void read_seed_oss(ConfigReader& config, Model& model) {
  read_llama_like(config, {80, 8, 27648, 155136, 524288, 128}, model);
  model.qkv_bias = config.flag("attention_bias", true);
  model.out_bias = config.flag("attention_out_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  model.dropout = config.real("hidden_dropout", 0.1, 0, 1);
}

void read_qwen3_moe(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 4, 6144, 151936, 32768}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = true;
  read_qwen_windows(config, 28, model);
  read_mixture(config, 128, 8, 768, model);
  place_qwen_experts(config, model);
}

void read_phi3(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 0, 8192, 32064, 4096}, model);
  model.qkv_matrix = QkvMatrix::kSliced;
  model.joined_gate = true;
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  config.flag("attention_bias", false);  // written out, never used by the implementation
  read_windows(config, config.count("sliding_window", 0), 0, model);
}

void read_phimoe(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 8, 6400, 32064, 131072}, model);
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.head_bias = config.flag("lm_head_bias", false);
  read_windows(config, config.count("sliding_window", 0), 0, model);
  read_mixture(config, 16, 2, model.ffn, model);
  place_experts(0, 1, model);
}

void read_starcoder2(ConfigReader& config, Model& model) {
  read_sizes(config, {24, 2, 12288, 49152, 4096}, model);
  read_activation(config, "gelu_pytorch_tanh", model);
  model.gated = false;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.qkv_bias = model.out_bias = model.mlp_bias = config.flag("use_bias", true);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  config.text("norm_type", "layer_norm");
  config.text("mlp_type", "default");
  read_windows(config, config.count("sliding_window", 0), 0, model);
}

/// LayerNorm with weight + 1 (and a bias), squared ReLU, no gate.
void read_nemotron(ConfigReader& config, Model& model) {
  read_llama_like(config, {48, 0, 24576, 256000, 4096}, model);
  read_activation(config, "relu2", model);
  model.gated = false;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = true;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
}

void read_gpt_oss(ConfigReader& config, Model& model) {
  read_llama_like(config, {64, 8, 2880, 201088, 131072, 64}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", true);
  model.attention_sinks = true;
  read_windows(config, config.count("sliding_window", 128), 2, model);
  read_mixture(config, 128, 4, model.ffn, model);
  model.experts.router_bias = model.experts.expert_bias = true;
  place_experts(0, 1, model);
}

void read_grok1(ConfigReader& config, Model& model) {
  read_llama_like(config, {48, 8, 32768, 131072, 8192}, model);
  read_activation(config, "gelu", model);
  model.norms_per_layer = 4;
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  read_mixture(config, 8, 2, model.ffn, model);
  place_experts(0, 1, model);
}

/// LayerNorm without bias, experts in every layer, sizes in two nested objects.
void read_dbrx(ConfigReader& config, Model& model) {
  read_llama_like(config, {16, 0, 0, 32000, 2048}, model);
  model.qkv_matrix = QkvMatrix::kSplit;
  model.norm = NormKind::kLayerNorm;
  if (ConfigReader* attention = config.child("attn_config")) {
    model.kv_heads = attention->size("num_key_value_heads", 1);
    attention->text("model_type", "");
  }
  int64_t expert_ffn = 3584;
  if (ConfigReader* ffn = config.child("ffn_config")) {
    expert_ffn = ffn->size("intermediate_size", 3584);
    read_mixture(*ffn, 4, 1, expert_ffn, model);
    ffn->text("ffn_act_fn_name", "");
    for (const char* key : {"moe_jitter_eps", "moe_loss_weight", "moe_normalize_expert_weights",
                            "uniform_expert_assignment", "ffn_act_fn"})
      ffn->raw(key);
  } else {
    model.experts = {.count = 4, .top_k = 1, .ffn = expert_ffn};
  }
  model.ffn = expert_ffn;
  place_experts(0, 1, model);
}

}  // namespace ergometer::spec
