#include "intake/megatron_names.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "spec/job/job_words.h"

namespace ergometer::intake {
namespace {

using spec::find_setting;
using spec::SettingInfo;
using spec::SettingKind;

/// Under their own names in the inline model.
constexpr std::array kDimensions = std::to_array<MegatronDimension>({
    {"num_layers", DimensionKind::kInteger},
    {"hidden_size", DimensionKind::kInteger},
    {"ffn_hidden_size", DimensionKind::kInteger},
    {"num_attention_heads", DimensionKind::kInteger},
    {"kv_channels", DimensionKind::kInteger},
    {"num_query_groups", DimensionKind::kInteger},
    {"group_query_attention", DimensionKind::kSwitch},
    {"vocab_size", DimensionKind::kInteger},
    {"max_position_embeddings", DimensionKind::kInteger},
    {"swiglu", DimensionKind::kSwitch},
    {"squared_relu", DimensionKind::kSwitch},
    {"normalization", DimensionKind::kText},
    {"add_qkv_bias", DimensionKind::kSwitch},
    {"qk_layernorm", DimensionKind::kSwitch},
    {"softmax_type", DimensionKind::kText},
    {"window_attn_skip_freq", DimensionKind::kText},
    {"untie_embeddings_and_output_weights", DimensionKind::kSwitch},
    {"position_embedding_type", DimensionKind::kText},
    {"hidden_dropout", DimensionKind::kReal},
    {"num_experts", DimensionKind::kInteger},
    {"moe_router_topk", DimensionKind::kInteger},
    {"moe_ffn_hidden_size", DimensionKind::kInteger},
    {"moe_shared_expert_intermediate_size", DimensionKind::kInteger},
    {"moe_shared_expert_gate", DimensionKind::kSwitch},
    {"moe_router_enable_expert_bias", DimensionKind::kSwitch},
    {"moe_layer_freq", DimensionKind::kText},
    {"multi_latent_attention", DimensionKind::kSwitch},
    {"q_lora_rank", DimensionKind::kInteger},
    {"kv_lora_rank", DimensionKind::kInteger},
    {"qk_head_dim", DimensionKind::kInteger},
    {"qk_pos_emb_head_dim", DimensionKind::kInteger},
    {"v_head_dim", DimensionKind::kInteger},
    {"mtp_num_layers", DimensionKind::kInteger},
});

/// Model dimensions under the names that relatives and earlier releases have.
struct DimensionName {
  std::string_view argument, dimension;
};
constexpr std::array kDimensionNames = std::to_array<DimensionName>({
    {"topk", "moe_router_topk"},
    // A gate, whatever its activation.
    {"quick_geglu", "swiglu"},
    {"expert_interval", "moe_layer_freq"},
    {"encoder_num_layers", "num_layers"},
});
std::string_view dimension_name(std::string_view argument) {
  for (const DimensionName& name : kDimensionNames)
    if (name.argument == argument) return name.dimension;
  return argument;
}

std::vector<MegatronMeaning> read_meanings() {
  std::vector<MegatronMeaning> all;
  for (const SettingInfo& info : spec::setting_table())
    for (const std::string& name : info.names(info.megatron))
      if (const size_t equals = name.find('='); equals != name.npos)
        all.push_back({name.substr(0, equals), info.name, name.substr(equals + 1)});
  return all;
}
const std::vector<MegatronMeaning>& meanings() {
  static const std::vector<MegatronMeaning> all = read_meanings();
  return all;
}

/// Arguments whose value needs translation.
constexpr std::array kSpecial = std::to_array<std::string_view>({"disable_bias_linear",
                                                                 "no_position_embedding",
                                                                 "use_rotary_position_embeddings",
                                                                 "fp8_format",
                                                                 "cross_entropy_fusion_impl",
                                                                 "attention_head_type",
                                                                 "attention_backend",
                                                                 "data_parallel_sharding_strategy",
                                                                 "num_key_value_heads",
                                                                 "ds_sequence_parallel_size",
                                                                 "pad_vocab_size_to",
                                                                 "padded_vocab_size",
                                                                 "deepspeed",
                                                                 "deepspeed_config",
                                                                 "tokenizer_type",
                                                                 "tokenizer_model",
                                                                 "tokenizer_name_or_path",
                                                                 "vocab_file",
                                                                 "merge_file",
                                                                 "transformer_impl",
                                                                 "use_legacy_models",
                                                                 "spec",
                                                                 "optimizer",
                                                                 "fp4_format",
                                                                 "first_k_dense_replace",
                                                                 "context_parallel_algo",
                                                                 "moe_tp_extend_ep",
                                                                 "moe_layer_recompute",
                                                                 "n_shared_experts",
                                                                 "num_shared_experts",
                                                                 "cp_comm_type",
                                                                 "window_size",
                                                                 "patch_tokenizer_type",
                                                                 "extra_vocab_size"});

}  // namespace

const MegatronDimension* find_megatron_dimension(std::string_view argument) {
  const auto it = std::ranges::find_if(kDimensions, [&](const MegatronDimension& known) {
    return known.name == dimension_name(argument);
  });
  return it == kDimensions.end() ? nullptr : it;
}

const MegatronMeaning* find_megatron_meaning(std::string_view argument) {
  const auto it = std::ranges::find(meanings(), argument, &MegatronMeaning::argument);
  return it == meanings().end() ? nullptr : &*it;
}

const SettingInfo* megatron_setting(std::string_view name) {
  const SettingInfo* info = find_setting(name);
  for (const SettingInfo& other : spec::setting_table())
    if (spec::index_of(other.megatron, name) >= 0) info = &other;
  // Short forms and our own words are not Megatron's; its --seed is of the weights, not of the
  // silicon.
  if (info == nullptr || info->name == "model" || info->name == "cluster" || info->name == "gpus" ||
      info->name == "mode" || info->group == "conditions")
    return nullptr;
  return info;
}

const std::vector<std::string>& megatron_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = base::mapped(meanings(), &MegatronMeaning::argument);
    for (const MegatronDimension& dimension : kDimensions) all.emplace_back(dimension.name);
    for (const SettingInfo& info : spec::setting_table())
      if (megatron_setting(info.name) != nullptr) all.emplace_back(info.name);
    return all;
  }();
  return names;
}

bool megatron_reads(std::string_view name) {
  return find_megatron_meaning(name) != nullptr || find_megatron_dimension(name) != nullptr ||
         base::contains(kSpecial, name) || megatron_setting(name) != nullptr;
}

bool megatron_switch(std::string_view name) {
  if (find_megatron_meaning(name) != nullptr) return true;
  if (const MegatronDimension* dimension = find_megatron_dimension(name))
    return dimension->kind == DimensionKind::kSwitch;
  const SettingInfo* info = megatron_setting(name);
  return info != nullptr
             ? info->kind == SettingKind::kSwitch
             : name == "disable_bias_linear" || name == "no_position_embedding" ||
                   name == "use_rotary_position_embeddings" || name == "use_legacy_models" ||
                   name == "moe_tp_extend_ep" || name == "moe_layer_recompute";
}

bool megatron_number(std::string_view name) {
  if (const MegatronDimension* dimension = find_megatron_dimension(name))
    return dimension->kind == DimensionKind::kInteger || dimension->kind == DimensionKind::kReal;
  const SettingInfo* info = megatron_setting(name);
  return info != nullptr &&
         (info->kind == SettingKind::kInteger || info->kind == SettingKind::kReal);
}

}  // namespace ergometer::intake
