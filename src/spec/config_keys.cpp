#include "spec/config_keys.h"

#include <algorithm>
#include <array>

namespace ergometer::spec {
namespace {

/// One row a meaning; the first word is the one that readers ask for.
constexpr std::array kAliases = std::to_array<std::array<std::string_view, 7>>({
    {"hidden_size", "n_embd", "n_embed", "d_model", "emb_size", "dim"},
    {"num_hidden_layers", "n_layer", "n_layers", "num_layers"},
    {"num_attention_heads", "n_head", "n_heads", "num_heads", "num_q_heads"},
    {"num_key_value_heads", "num_kv_heads", "n_head_kv", "num_query_groups", "n_kv_heads", "kv_n_heads"},
    {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"},
    {"max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "n_ctx"},
    {"vocab_size", "padded_vocab_size"},
    {"head_dim", "kv_channels", "head_size", "key_size"},
    {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"},
    {"num_experts_per_tok", "num_selected_experts", "moe_top_k", "moe_router_topk", "experts_per_token"},
    {"hidden_act", "activation_function", "hidden_activation"},
    {"hidden_dropout", "resid_pdrop", "dropout", "hidden_dropout_prob", "resid_dropout", "residual_dropout"},
    {"n_shared_experts", "num_shared_experts"},
    {"moe_intermediate_size", "moe_ffn_hidden_size"},
    {"num_nextn_predict_layers", "mtp_num_layers"},
});

/// In the order of the alphabet, for whoever looks one up.
constexpr std::array kHarmless = std::to_array<std::string_view>({
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_ergometer", "_name_or_path",
    "activation_dropout", "attention_probs_dropout_prob",
    "add_cross_attention", "apply_query_key_layer_scaling", "apply_residual_connection_post_layernorm",
    "architectures", "attention_dropout", "attention_multiplier", "attention_softmax_in_fp32",
    "attn_logit_softcapping", "attn_output_multiplier", "attn_pdrop", "auto_map", "aux_loss_alpha",
    "bad_words_ids", "base_model_prefix", "bias_dropout_fusion", "begin_suppress_tokens", "boi_token_index", "bos_token_id", "cache_implementation",
    "chunk_size_feed_forward", "classifier_dropout", "clip_qkv", "decoder_start_token_id", "do_sample",
    "dtype", "early_stopping", "embd_pdrop", "embedding_dropout", "embedding_multiplier_scale", "eoi_token_index",
    "eos_token_id", "ep_size", "exponential_decay_length_penalty", "final_logit_softcapping",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label",
    "image_token_index", "init_device", "init_std", "initial_context_length", "initializer_factor", "initializer_range",
    "input_jitter_noise", "is_decoder", "is_encoder_decoder", "label2id", "layer_norm_eps", "layer_norm_epsilon",
    "layerdrop", "length_penalty", "lm_head_dropout", "logit_scale", "logits_scaling", "max_attn_value",
    "masked_softmax_fusion", "max_length", "max_window_layers", "min_length", "mm_tokens_per_image", "model_type", "n_group",
    "no_repeat_ngram_size", "norm_eps", "norm_epsilon", "norm_topk_prob", "num_beam_groups", "num_beams",
    "num_return_sequences", "offset_alibi", "original_max_position_embeddings", "output_attentions", "output_dropout",
    "output_hidden_states", "output_multiplier_scale", "output_past", "output_router_logits", "output_scores",
    "pad_token_id", "partial_rotary_factor", "prefix", "pretraining_tp", "problem_type", "pruned_heads",
    "quantization_config", "query_pre_attn_scalar", "reorder_and_upcast_attn", "repetition_penalty",
    "return_dict", "return_dict_in_generate", "rms_norm_eps", "rope_interleave", "rope_local_base_freq",
    "rope_parameters", "rope_ratio", "rope_scaling", "rope_theta", "rope_type", "rotary", "rotary_base", "rotary_dim",
    "rotary_emb_base", "rotary_pct", "routed_scaling_factor", "router_aux_loss_coef", "router_aux_loss_factor",
    "router_jitter_noise", "router_z_loss_coef", "scale_attention_softmax_in_fp32", "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights", "scoring_func", "sep_token_id", "seq_aux", "seq_length", "skip_bias_add",
    "skip_bias_add_qkv", "slow_but_exact", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj", "suppress_tokens", "swiglu_limit", "task_specific_params", "temperature",
    "tf_legacy_loss", "tokenizer_class", "tokenizer_name", "top_k", "top_p", "topk_group", "topk_method", "torch_dtype",
    "torchscript", "transformers.js_config", "transformers_version", "typical_p", "unk_token_id", "use_bfloat16",
    "use_cache", "use_qkv_bias_default", "verbose",
    "vision_config", "vlm_config", "emb_pdrop",
});

}  // namespace

std::span<const std::string_view> config_spellings(const std::string_view& key) {
  for (const auto& row : kAliases) {
    if (row[0] != key) continue;
    const auto end = std::find(row.begin(), row.end(), std::string_view());
    return {row.data(), static_cast<size_t>(end - row.begin())};
  }
  return {&key, 1};
}

bool is_harmless_config_key(std::string_view key) {
  return std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end();
}

}  // namespace ergometer::spec
