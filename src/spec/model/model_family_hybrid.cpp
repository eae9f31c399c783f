// Models that mix layer kinds: Mamba-2 hybrids (Nemotron-H, Nemotron 3, plain Mamba-2), Qwen3-Next
// with gated DeltaNet, Llama 4 with chunked attention.

#include "spec/model/model_families.h"

namespace ergometer::spec {
namespace {

/// One letter a layer: M state space, * attention, - MLP, E experts. `|` marks pipeline borders in
/// some files and counts nothing; what follows `/` describes multi-token prediction.
void read_layer_letters(ConfigReader& config, std::string_view key, Model& model) {
  std::string letters = config.text(key, "");
  letters = letters.substr(0, letters.find('/'));
  model.layers.clear();
  for (const char letter : letters.substr(0, kMostLayers + 1)) {
    switch (letter) {
      case 'M': model.layers.push_back({.mixer = Mixer::kStateSpace, .feed_forward = false}); break;
      case '*': model.layers.push_back({.feed_forward = false}); break;
      case '-': model.layers.push_back({.mixer = Mixer::kNone}); break;
      case 'E': model.layers.push_back({.moe = true, .mixer = Mixer::kNone}); break;
      case '|': break;
      default:
        return config.refuse(key,
                             "found the letter \"{}\"; allowed: M (state space), * (attention), - "
                             "(MLP), E (experts)",
                             letter);
    }
  }
}

void check_letters(ConfigReader& config, int64_t layers, const Model& model) {
  if (layers != model.layer_count())
    config.refuse("num_hidden_layers",
                  "found {}; allowed: the {} letters of hybrid_override_pattern", layers,
                  model.layer_count());
  for (const Layer& layer : model.layers)
    if (layer.moe && model.experts.count == 0)
      return config.refuse("hybrid_override_pattern",
                           "found experts (E); allowed: only beside n_routed_experts above 0");
}

/// Mamba-2's keys, under the spellings of nemotron_h and of mamba2.
void read_mamba(ConfigReader& config, int64_t heads, int64_t groups, int64_t chunk, Model& model) {
  StateSpace& ssm = model.state_space;
  ssm.heads = config.size("mamba_num_heads", heads);
  ssm.head_dim = config.size("mamba_head_dim", 64);
  ssm.groups = config.size("n_groups", groups);
  ssm.state = config.size("ssm_state_size", 128);
  ssm.conv_width = config.size("conv_kernel", 4);
  ssm.chunk = config.size("chunk_size", chunk);
  ssm.conv_bias = config.flag("use_conv_bias", true);
  for (const char* key :
       {"expand", "mamba_hidden_act", "time_step_floor", "time_step_limit", "time_step_max",
        "time_step_min", "time_step_rank", "rescale_prenorm_residual", "residual_in_fp32",
        "mamba_proj_bias", "mamba_ssm_cache_dtype", "use_mamba_kernels", "num_logits_to_keep",
        "use_bias", "rms_norm", "tie_word_embeddings"})
    config.raw(key);
  if (ssm.heads % ssm.groups != 0)
    config.refuse("n_groups", "found {}; allowed: a divisor of the {} state-space heads",
                  ssm.groups, ssm.heads);
}

}  // namespace

void read_nemotron_h(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 8, 21504, 131072, 4096, 128}, model);
  config.text("mlp_hidden_act", "relu2");
  model.activation = Activation::kSquaredRelu;
  model.gated = false;
  model.positions = PositionKind::kNone;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.mlp_bias = config.flag("mlp_bias", false);
  read_mamba(config, 128, 8, 128, model);
  const int64_t shared = config.count("moe_shared_expert_intermediate_size", 0);
  const int64_t latent = config.count("moe_latent_size", 0);
  const bool shares = config.count("n_shared_experts", 1) > 0;
  read_mixture(config, 0, 2, 1, model);
  if (model.experts.count > 0) {
    model.experts.shared_ffn = shares ? shared : 0;
    model.experts.latent = latent;
    model.experts.router_bias = true;
  }
  const int64_t layers = model.layer_count();
  read_layer_letters(config, "hybrid_override_pattern", model);
  if (!config.error()) check_letters(config, layers, model);
  model.mtp_layers = config.count("num_nextn_predict_layers", 0);
  config.raw("mtp_hybrid_override_pattern");
  config.raw("moe_shared_expert_overlap");
}

void read_mamba2(ConfigReader& config, Model& model) {
  const int64_t hidden = config.required_size("hidden_size");
  const int64_t layers = config.required_size("num_hidden_layers");
  if (config.error()) return;
  if (layers > kMostLayers)
    return config.refuse("num_hidden_layers", "found {}; allowed: 1 to {}", layers, kMostLayers);
  model.hidden = model.embedding_dim = model.ffn = hidden;
  model.heads = model.kv_heads = 1;  // no layer attends
  model.head_dim = hidden;
  model.vocab = config.size("vocab_size", 32768);
  model.max_positions = config.size("max_position_embeddings", 1 << 20);
  model.positions = PositionKind::kNone;
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
  StateSpace& ssm = model.state_space;
  ssm.head_dim = config.size("head_dim", 64);
  ssm.heads = config.size("num_attention_heads", 2 * hidden / ssm.head_dim);
  ssm.groups = config.size("n_groups", 8);
  ssm.state = config.size("state_size", 128);
  ssm.conv_width = config.size("conv_kernel", 4);
  ssm.chunk = config.size("chunk_size", 256);
  ssm.conv_bias = config.flag("use_conv_bias", true);
  for (const char* key :
       {"expand", "hidden_act", "rms_norm", "norm_before_gate", "residual_in_fp32",
        "time_step_floor", "time_step_limit", "time_step_max", "time_step_min", "time_step_rank",
        "use_bias", "rescale_prenorm_residual"})
    config.raw(key);
  model.layers.assign(static_cast<size_t>(layers),
                      {.mixer = Mixer::kStateSpace, .feed_forward = false});
}

/// Three of four layers are gated DeltaNet, the fourth attends with an output gate; experts
/// everywhere.
void read_qwen3_next(ConfigReader& config, Model& model) {
  read_llama_like(config, {16, 2, 5632, 151936, 32768, 256}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.qk_norm = model.attention_gate = true;
  StateSpace& ssm = model.state_space;
  ssm.delta_rule = true;
  ssm.heads = config.size("linear_num_value_heads", 32);
  ssm.groups = config.size("linear_num_key_heads", 16);
  ssm.head_dim = config.size("linear_value_head_dim", 128);
  ssm.state = config.size("linear_key_head_dim", 128);
  ssm.conv_width = config.size("linear_conv_kernel_dim", 4);
  ssm.conv_bias = false;
  ssm.chunk = 64;
  const int64_t every = config.size("full_attention_interval", 4);
  const std::vector<std::string> types = config.texts("layer_types");
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const bool attends = types.size() == model.layers.size()
                             ? types[i] == "full_attention"
                             : (static_cast<int64_t>(i) + 1) % every == 0;
    model.layers[i].mixer = attends ? Mixer::kAttention : Mixer::kStateSpace;
  }
  read_mixture(config, 512, 10, 512, model);
  model.experts.shared_ffn = config.count("shared_expert_intermediate_size", 512);
  model.experts.shared_gate = model.experts.shared_ffn > 0;
  config.raw("decoder_sparse_step");
  config.raw("mlp_only_layers");
  place_experts(0, 1, model);
  model.mtp_layers = config.count("num_nextn_predict_layers", 0);
}

/// Three of four layers attend inside chunks with rotary positions, the fourth everywhere without;
/// experts in every `interleave_moe_layer_step`-th layer, one a token, and a shared one.
void read_llama4_text(ConfigReader& config, Model& model) {
  read_llama_like(config, {40, 8, 8192, 202048, 131072, 128}, model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
  model.ffn = config.size("intermediate_size_mlp", 16384);
  const int64_t chunk = config.count("attention_chunk_size", 8192);
  const int64_t full = config.size("no_rope_layer_interval", 4);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].chunk = (static_cast<int64_t>(i) + 1) % full == 0 ? 0 : chunk;
  model.experts.count = config.count("num_experts", 16);
  model.experts.top_k = config.count("num_experts_per_tok", 1);
  model.experts.ffn = config.size("intermediate_size", 8192);
  model.experts.shared_ffn = model.experts.ffn;
  const int64_t step = config.size("interleave_moe_layer_step", 1);
  for (size_t i = 0; i < model.layers.size(); ++i)
    model.layers[i].moe = (static_cast<int64_t>(i) + 1) % step == 0;
  for (const char* key : {"no_rope_layers", "use_qk_norm", "attn_scale", "attn_temperature_tuning",
                          "floor_scale", "for_llm_compressor", "moe_layers", "layer_types"})
    config.raw(key);
}

}  // namespace ergometer::spec
