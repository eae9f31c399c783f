// DeepSeek-V2 and V3 (and Kimi K2): latent attention, shared experts, dense first layers.
#include "spec/model/model_families.h"

namespace ergometer::spec {
namespace {

void read_latent_attention(ConfigReader& config, Model& model) {
  model.attention = AttentionKind::kLatent;
  model.latent.q_rank = config.is_null("q_lora_rank") ? 0 : config.count("q_lora_rank", 1536);
  model.latent.kv_rank = config.size("kv_lora_rank", 512);
  model.latent.qk_nope_dim = config.size("qk_nope_head_dim", 128);
  model.latent.qk_rope_dim = config.size("qk_rope_head_dim", 64);
  model.latent.v_dim = config.size("v_head_dim", 128);
  config.raw("qk_head_dim");
  // Every head has its own keys and values once they are decompressed.
  model.kv_heads = model.heads;
  model.head_dim = model.latent.qk_nope_dim + model.latent.qk_rope_dim;
  model.qkv_bias = model.out_bias = config.flag("attention_bias", false);
}

void read_deepseek_experts(ConfigReader& config, int64_t count, int64_t top_k, int64_t ffn,
                           int64_t shared, int64_t first_dense, Model& model) {
  read_mixture(config, count, top_k, ffn, model);
  const int64_t shared_count = config.count("n_shared_experts", shared);
  const int64_t groups = config.count("n_group", 1), chosen = config.count("topk_group", 1);
  if (model.experts.count > 0) {
    model.experts.shared_ffn = shared_count * model.experts.ffn;
    const bool sound = groups >= 1 && model.experts.count % groups == 0 && chosen >= 1 &&
                       chosen <= groups && model.experts.top_k % chosen == 0;
    if (sound) {
      model.experts.groups = groups;
      model.experts.group_top_k = chosen;
    }
  }
  place_experts(config.count("first_k_dense_replace", first_dense),
                config.size("moe_layer_freq", 1), model);
}

}  // namespace

void read_deepseek_v2(ConfigReader& config, Model& model) {
  read_llama_like(config, {32, 32, 11008, 102400, 2048}, model);
  read_latent_attention(config, model);
  read_deepseek_experts(config, 64, 6, 1407, 2, 0, model);
}

void read_deepseek_v3(ConfigReader& config, Model& model) {
  read_llama_like(config, {128, 128, 18432, 129280, 4096}, model);
  read_latent_attention(config, model);
  read_deepseek_experts(config, 256, 8, 2048, 1, 3, model);
  model.experts.router_bias = model.experts.count > 0;
  model.mtp_layers = config.count("num_nextn_predict_layers", 0);
}

}  // namespace ergometer::spec
