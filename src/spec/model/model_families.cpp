#include "spec/model/model_families.h"

#include <array>

namespace ergometer::spec {

std::span<const ModelFamily> model_families() {
  static constexpr std::array kFamilies = std::to_array<ModelFamily>({
      {"baichuan", read_baichuan},
      {"bloom", read_bloom},
      {"cohere", read_cohere},
      {"cohere2", read_cohere2},
      {"dbrx", read_dbrx},
      {"deepseek_v2", read_deepseek_v2},
      {"deepseek_v3", read_deepseek_v3},
      {"ernie4_5", read_ernie4_5},
      {"falcon", read_falcon},
      {"gemma", read_gemma},
      {"gemma2", read_gemma2},
      {"gemma3", read_gemma3},
      {"gemma3_text", read_gemma3_text},
      {"glm", read_glm},
      {"glm4", read_glm4},
      {"glm4_moe", read_glm4_moe},
      {"gpt2", read_gpt2},
      {"gpt_neo", read_gpt_neo},
      {"gpt_neox", read_gpt_neox},
      {"gpt_oss", read_gpt_oss},
      {"gptj", read_gptj},
      {"granite", read_granite},
      {"grok-1", read_grok1},
      {"internlm2", read_internlm2},
      {"internlm3", read_internlm3},
      {"internvl", read_internvl},
      {"internvl_chat", read_internvl_chat},
      {"kimi_k2", read_deepseek_v3},
      {"llama", read_llama},
      {"llama4_text", read_llama4_text},
      {"llava", read_llava},
      {"llava_next", read_llava_next},
      {"mamba2", read_mamba2},
      {"megatron", read_megatron},
      {"minimax_m2", read_minimax_m2},
      {"mistral", read_mistral},
      {"mixtral", read_mixtral},
      {"mpt", read_mpt},
      {"nemotron", read_nemotron},
      {"nemotron_h", read_nemotron_h},
      {"olmo", read_olmo},
      {"olmo2", read_olmo2},
      {"olmoe", read_olmoe},
      {"opt", read_opt},
      {"phi", read_phi},
      {"phi3", read_phi3},
      {"phimoe", read_phimoe},
      {"qwen2", read_qwen2},
      {"qwen2_5_vl", read_qwen2_5_vl},
      {"qwen2_moe", read_qwen2_moe},
      {"qwen2_vl", read_qwen2_vl},
      {"qwen3", read_qwen3},
      {"qwen3_moe", read_qwen3_moe},
      {"qwen3_next", read_qwen3_next},
      {"seed_oss", read_seed_oss},
      {"starcoder2", read_starcoder2},
  });
  return kFamilies;
}

void read_sizes(ConfigReader& config, const SizeDefaults& defaults, Model& model) {
  // Publishers always write these two; without them the file is not a whole configuration.
  const auto own_or = [&](const char* key, int64_t fallback) {
    return fallback > 0 && config.is_nested() ? config.size(key, fallback)
                                              : config.required_size(key);
  };
  model.hidden = own_or("hidden_size", defaults.hidden);
  model.heads = config.size("num_attention_heads", defaults.heads);
  model.kv_heads =
      config.size("num_key_value_heads", defaults.kv_heads == 0 ? model.heads : defaults.kv_heads);
  model.ffn = config.size("intermediate_size", defaults.ffn == 0 ? 4 * model.hidden : defaults.ffn);
  model.vocab = config.size("vocab_size", defaults.vocab);
  model.max_positions = config.size("max_position_embeddings", defaults.positions);
  model.head_dim = config.size("head_dim", defaults.head_dim);
  model.embedding_dim = model.hidden;
  const int64_t layers = own_or("num_hidden_layers", defaults.layers);
  if (layers > 100'000)
    config.refuse("num_hidden_layers", "found {}; allowed: a whole number from 1 to 100000",
                  layers);
  else
    model.layers.resize(static_cast<size_t>(layers));
}

void read_activation(ConfigReader& config, std::string_view fallback, Model& model) {
  const std::string word = config.text("hidden_act", std::string(fallback));
  model.written_gelu = word == "gelu_new" || word == "gelu_fast";
  if (word == "silu" || word == "swish" || word == "swiglu")
    model.activation = Activation::kSilu;
  else if (word.starts_with("gelu") || word == "quick_gelu")
    model.activation = Activation::kGelu;
  else if (word == "relu")
    model.activation = Activation::kRelu;
  else if (word == "relu2")
    model.activation = Activation::kSquaredRelu;
  else
    config.refuse("hidden_act", "found \"{}\"; allowed: silu, gelu (any variant), relu, relu2",
                  word);
}

void read_windows(ConfigReader& config, int64_t window, int64_t pattern, Model& model) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != model.layers.size()) {
    config.refuse("layer_types", "found {} entries; allowed: one for each of the {} layers",
                  types.size(), model.layers.size());
    return;
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const bool slides = types.empty() ? pattern == 0 || (static_cast<int64_t>(i) + 1) % pattern != 0
                                      : types[i] == "sliding_attention";
    if (!types.empty() && !slides && types[i] != "full_attention")
      config.refuse("layer_types", "found \"{}\"; allowed: full_attention, sliding_attention",
                    types[i]);
    model.layers[i].window = slides ? window : 0;
  }
}

void read_mixture(ConfigReader& config, int64_t experts, int64_t top_k, int64_t expert_ffn,
                  Model& model) {
  model.experts.count = config.count("num_experts", experts);
  model.experts.top_k = config.count("num_experts_per_tok", top_k);
  model.experts.ffn = config.size("moe_intermediate_size", expert_ffn);
  if (model.experts.count == 0) model.experts = {};
}

void place_experts(int64_t first, int64_t every, Model& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    model.layers[i].moe = model.experts.count > 0 && index >= first && index % every == 0;
  }
}

}  // namespace ergometer::spec
