// LayerNorm, biases and an ungated MLP: GPT-2 and the families around it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/model/model_families.h"

namespace ergometer::spec {

void set_biased_gpt(Model& model) {
  model.activation = Activation::kGelu;
  model.gated = false;
  model.norm = NormKind::kLayerNorm;
  model.norm_bias = model.qkv_bias = model.out_bias = model.mlp_bias = true;
}

void read_gpt2(ConfigReader& config, Model& model) {
  read_sizes(config, {12, 0, 0, 50257, 1024}, model);
  set_biased_gpt(model);
  model.qkv_matrix = QkvMatrix::kSplit;
  read_activation(config, "gelu_new", model);
  model.positions = PositionKind::kLearned;
  model.position_rows = model.max_positions;
  model.dropout = config.real("hidden_dropout", 0.1, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
}

namespace {

/// `attention_layers: ["global", "local", ...]` or `attention_types: [[["global", "local"], 12]]`.
std::vector<std::string> neo_attention_layers(ConfigReader& config) {
  std::vector<std::string> layers = config.texts("attention_layers");
  const nlohmann::json* types = config.raw("attention_types");
  if (!layers.empty()) return layers;
  if (types == nullptr) return {"global", "local"};
  for (const auto& group : *types) {
    const bool good = group.is_array() && group.size() == 2 && group[0].is_array() &&
                      group[1].is_number_unsigned() && group[1].get<uint64_t>() <= 100'000;
    if (!good) {
      config.refuse("attention_types",
                    "found another form; allowed: [[[\"global\", \"local\"], 12]]");
      return {"global"};
    }
    for (uint64_t i = 0; i < group[1].get<uint64_t>() && layers.size() < 100'000; ++i)
      for (const auto& name : group[0])
        layers.push_back(name.is_string() ? name.get<std::string>() : "");
  }
  return layers;
}

}  // namespace

void read_gpt_neo(ConfigReader& config, Model& model) {
  read_sizes(config, {16, 0, 0, 50257, 2048}, model);
  set_biased_gpt(model);
  read_activation(config, "gelu_new", model);
  model.qkv_bias = false;
  model.positions = PositionKind::kLearned;
  model.position_rows = model.max_positions;
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  const int64_t window = config.size("window_size", 256);
  const std::vector<std::string> kinds = neo_attention_layers(config);
  for (size_t i = 0; i < model.layers.size() && !kinds.empty(); ++i)
    model.layers[i].window = kinds[i % kinds.size()] == "local" ? window : 0;
}

void read_gptj(ConfigReader& config, Model& model) {
  read_sizes(config, {16, 0, 0, 50400, 2048}, model);
  set_biased_gpt(model);
  read_activation(config, "gelu_new", model);
  model.qkv_bias = model.out_bias = false;
  model.parallel_branches = true;
  model.norms_per_layer = 1;
  model.head_bias = true;
  const int64_t width = std::max<int64_t>(1, model.hidden / std::max<int64_t>(1, model.heads));
  model.rotary_share = std::min(
      1.0, static_cast<double>(config.size("rotary_dim", 64)) / static_cast<double>(width));
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
}

void read_gpt_neox(ConfigReader& config, Model& model) {
  model.rotary_share = 0.25;
  read_sizes(config, {64, 0, 24576, 50432, 2048}, model);
  set_biased_gpt(model);
  model.qkv_matrix = QkvMatrix::kSplit;
  read_activation(config, "gelu", model);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", true);
  model.parallel_branches = config.flag("use_parallel_residual", true);
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
}

void read_bloom(ConfigReader& config, Model& model) {
  read_sizes(config, {8, 0, 0, 250880, 2048}, model);
  set_biased_gpt(model);
  model.qkv_matrix = QkvMatrix::kSliced;
  model.positions = PositionKind::kAlibi;
  model.embedding_norm = true;
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
}

void read_mpt(ConfigReader& config, Model& model) {
  read_sizes(config, {16, 0, 0, 50368, 2048}, model);
  set_biased_gpt(model);
  model.qkv_matrix = QkvMatrix::kSplit;
  const bool bias = !config.flag("no_bias", true);
  model.norm_bias = model.qkv_bias = model.out_bias = model.mlp_bias = bias;
  model.ffn = static_cast<int64_t>(config.real("expansion_ratio", 4, 0.1, 1000) *
                                   static_cast<double>(model.hidden));
  bool alibi = true;
  if (ConfigReader* attention = config.child("attn_config")) {
    alibi = attention->flag("alibi", true);
    model.kv_heads = attention->size("num_key_value_heads", model.heads);
    if (attention->text("attn_type", "multihead_attention") == "multiquery_attention")
      model.kv_heads = 1;
    for (const char* key :
         {"attn_pdrop", "attn_impl", "attn_uses_sequence_id", "prefix_lm", "qk_ln", "softmax_scale",
          "alibi_bias_max", "clip_qkv", "rope", "model_type"})
      attention->raw(key);
  }
  model.positions = alibi ? PositionKind::kAlibi : PositionKind::kLearned;
  model.position_rows = alibi ? 0 : model.max_positions;
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  config.raw("learned_pos_emb");
  for (const char* key :
       {"init_config", "logit_scale", "norm_type", "embedding_fraction", "fc_type", "ffn_config"})
    config.raw(key);
}

void read_opt(ConfigReader& config, Model& model) {
  read_sizes(config, {12, 0, 3072, 50272, 2048}, model);
  set_biased_gpt(model);
  read_activation(config, "relu", model);
  const bool bias = config.flag("enable_bias", true);
  model.qkv_bias = model.out_bias = model.mlp_bias = bias;
  config.flag("layer_norm_elementwise_affine", true);
  model.positions = PositionKind::kLearned;
  // The table starts with two rows that no position uses: fairseq's padding offset.
  model.position_rows = model.max_positions + 2;
  model.embedding_dim = config.size("word_embed_proj_dim", model.hidden);
  const bool norm_first = config.flag("do_layer_norm_before", true);
  model.final_norm = norm_first && !config.flag("_remove_final_layer_norm", false);
  model.dropout = config.real("hidden_dropout", 0.1, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
}

void read_phi(ConfigReader& config, Model& model) {
  read_sizes(config, {32, 0, 8192, 51200, 2048}, model);
  set_biased_gpt(model);
  read_activation(config, "gelu_new", model);
  model.parallel_branches = true;
  model.norms_per_layer = 1;
  model.head_bias = true;
  model.qk_norm = config.flag("qk_layernorm", false);
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
  model.tied_embeddings = config.flag("tie_word_embeddings", false);
}

void read_falcon(ConfigReader& config, Model& model) {
  const bool second = config.flag("new_decoder_architecture", false);
  const bool multi_query = config.flag("multi_query", true);
  read_sizes(config, {71, 0, 0, 65024, 2048}, model);
  if (!second) model.kv_heads = multi_query ? 1 : model.heads;
  set_biased_gpt(model);
  model.qkv_matrix = QkvMatrix::kSplit;
  read_activation(config, "gelu", model);
  model.qkv_bias = model.out_bias = model.mlp_bias = config.flag("bias", false);
  model.parallel_branches = second || config.flag("parallel_attn", true);
  const int64_t parallel_norms = second ? config.size("num_ln_in_parallel_attn", 2) : 1;
  model.norms_per_layer = model.parallel_branches ? static_cast<int>(parallel_norms) : 2;
  model.positions = config.flag("alibi", false) ? PositionKind::kAlibi : PositionKind::kRotary;
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  model.dropout = config.real("hidden_dropout", 0, 0, 1);
}

}  // namespace ergometer::spec
