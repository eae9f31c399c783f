#pragma once

#include <span>
#include <string_view>

#include "spec/job/model.h"
#include "spec/model/config_reader.h"

namespace ergometer::spec {

inline constexpr int64_t kMostLayers = 100'000;

/// One supported `model_type` and how its config.json becomes a Model. The reader's defaults are
/// those of the Hugging Face configuration class, which apply when a key is absent.
struct ModelFamily {
  std::string_view model_type;
  void (*read)(ConfigReader& config, Model& model);
};

std::span<const ModelFamily> model_families();

/// What the configuration class of a family says when config.json does not. Width and depth have no
/// default: a file without them is not whole.
struct SizeDefaults {
  int64_t heads;
  int64_t kv_heads;  ///< 0: as heads
  int64_t ffn;       ///< 0: four times hidden
  int64_t vocab, positions;
  int64_t head_dim = 0;  ///< 0: hidden / heads
  /// Of a decoder nested in the file of a model that sees, which leaves out what is usual; 0: none.
  int64_t hidden = 0, layers = 0;
};

/// hidden, layers, heads, head_dim, ffn, vocab and positions: the part all families share.
void read_sizes(ConfigReader& config, const SizeDefaults& defaults, Model& model);
void read_activation(ConfigReader& config, std::string_view fallback, Model& model);
/// `layer_types` where the file has it, else every layer for which (index + 1) % pattern != 0
/// slides over `window` tokens; pattern 1: none slides, pattern 0: all do.
void read_windows(ConfigReader& config, int64_t window, int64_t pattern, Model& model);
/// GPT-style LayerNorm blocks with biases everywhere and an ungated MLP.
void set_biased_gpt(Model& model);
void read_llama_like(ConfigReader& config, const SizeDefaults& defaults, Model& model);
void read_mixture(ConfigReader& config, int64_t experts, int64_t top_k, int64_t expert_ffn,
                  Model& model);
/// Layers before `first` are dense; from there on every `every`-th, counted from layer 0, has
/// experts.
void place_experts(int64_t first, int64_t every, Model& model);

void read_llama(ConfigReader& config, Model& model);
void read_baichuan(ConfigReader& config, Model& model);
void read_cohere(ConfigReader& config, Model& model);
void read_cohere2(ConfigReader& config, Model& model);
void read_ernie4_5(ConfigReader& config, Model& model);
void read_granite(ConfigReader& config, Model& model);
void read_internlm3(ConfigReader& config, Model& model);
void read_olmo(ConfigReader& config, Model& model);
void read_olmo2(ConfigReader& config, Model& model);
void read_olmoe(ConfigReader& config, Model& model);
void read_minimax_m2(ConfigReader& config, Model& model);
void read_mistral(ConfigReader& config, Model& model);
void read_mixtral(ConfigReader& config, Model& model);
void read_qwen2(ConfigReader& config, Model& model);
void read_qwen2_moe(ConfigReader& config, Model& model);
void read_qwen3(ConfigReader& config, Model& model);
void read_qwen3_moe(ConfigReader& config, Model& model);
void read_phi3(ConfigReader& config, Model& model);
void read_phimoe(ConfigReader& config, Model& model);
void read_gemma(ConfigReader& config, Model& model);
void read_gemma2(ConfigReader& config, Model& model);
void read_gemma3_text(ConfigReader& config, Model& model);
void read_gemma3(ConfigReader& config, Model& model);
void read_glm(ConfigReader& config, Model& model);
void read_glm4(ConfigReader& config, Model& model);
void read_glm4_moe(ConfigReader& config, Model& model);
void read_gpt_oss(ConfigReader& config, Model& model);
void read_nemotron(ConfigReader& config, Model& model);
void read_seed_oss(ConfigReader& config, Model& model);
void read_starcoder2(ConfigReader& config, Model& model);
void read_grok1(ConfigReader& config, Model& model);
void read_dbrx(ConfigReader& config, Model& model);
void read_deepseek_v2(ConfigReader& config, Model& model);
void read_deepseek_v3(ConfigReader& config, Model& model);

void read_nemotron_h(ConfigReader& config, Model& model);
void read_mamba2(ConfigReader& config, Model& model);
void read_qwen3_next(ConfigReader& config, Model& model);
void read_llama4_text(ConfigReader& config, Model& model);

void read_internlm2(ConfigReader& config, Model& model);
void read_internvl_chat(ConfigReader& config, Model& model);
void read_internvl(ConfigReader& config, Model& model);
void read_llava(ConfigReader& config, Model& model);
void read_llava_next(ConfigReader& config, Model& model);
void read_qwen2_vl(ConfigReader& config, Model& model);
void read_qwen2_5_vl(ConfigReader& config, Model& model);

void read_gpt2(ConfigReader& config, Model& model);
void read_gptj(ConfigReader& config, Model& model);
void read_gpt_neo(ConfigReader& config, Model& model);
void read_gpt_neox(ConfigReader& config, Model& model);
void read_bloom(ConfigReader& config, Model& model);
void read_mpt(ConfigReader& config, Model& model);
void read_opt(ConfigReader& config, Model& model);
void read_phi(ConfigReader& config, Model& model);
void read_falcon(ConfigReader& config, Model& model);

/// Not a Hugging Face type: Megatron-LM's own arguments, for launch scripts and NeMo files.
void read_megatron(ConfigReader& config, Model& model);

}  // namespace ergometer::spec
