// Gemma and GLM: gated MLPs with norms before and after each half of a layer.

#include "spec/model/model_families.h"

namespace ergometer::spec {
namespace {

void read_gemma_like(ConfigReader& config, const SizeDefaults& defaults, Model& model) {
  read_llama_like(config, defaults, model);
  read_activation(config, "gelu_pytorch_tanh", model);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
}

/// Null says that nothing is capped.
bool caps(ConfigReader& config, std::string_view key, double fallback) {
  return !config.is_null(key) && config.real(key, fallback, 0, 1e6) > 0;
}

}  // namespace

void read_gemma(ConfigReader& config, Model& model) {
  read_gemma_like(config, {16, 16, 24576, 256000, 8192, 256}, model);
}

void read_gemma2(ConfigReader& config, Model& model) {
  read_gemma_like(config, {8, 4, 9216, 256000, 8192, 256}, model);
  model.norms_per_layer = 4;
  model.capped_scores = caps(config, "attn_logit_softcapping", 50);
  model.capped_logits = caps(config, "final_logit_softcapping", 30);
  read_windows(config, config.count("sliding_window", 4096), 2, model);
}

void read_gemma3_text(ConfigReader& config, Model& model) {
  read_gemma_like(config, {8, 4, 9216, 262208, 131072, 256}, model);
  model.norms_per_layer = 4;
  model.qk_norm = true;
  const int64_t pattern = config.size("sliding_window_pattern", 6);
  read_windows(config, config.count("sliding_window", 4096), pattern, model);
}

/// The multimodal checkpoints nest the language model; the vision tower is not part of the job.
void read_gemma3(ConfigReader& config, Model& model) {
  ConfigReader* text = config.child("text_config");
  read_gemma3_text(text != nullptr ? *text : config, model);
}

void read_glm(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 2, 13696, 151552, 131072, 128}, model);
  model.qkv_bias = config.flag("attention_bias", true);
  model.joined_gate = true;
}

void read_glm4(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 2, 13696, 151552, 131072, 128}, model);
  model.qkv_bias = config.flag("attention_bias", false);
  model.norms_per_layer = 4;
  model.joined_gate = true;
}

void read_glm4_moe(ConfigReader& config, Model& model) {
  read_llama_like(config, {96, 8, 10944, 151552, 131072, 128}, model);
  model.qkv_bias = config.flag("attention_bias", false);
  model.qk_norm = config.flag("use_qk_norm", false);
  read_mixture(config, 128, 8, 1408, model);
  model.experts.shared_ffn = config.count("n_shared_experts", 1) * model.experts.ffn;
  model.experts.router_bias = true;
  model.mtp_layers = config.count("num_nextn_predict_layers", 0);
  place_experts(config.count("first_k_dense_replace", 1), 1, model);
}

}  // namespace ergometer::spec
