#include "intake/config/foundry.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/model/model_names.h"

namespace ergometer::intake {
namespace {

class FoundryReader {
 public:
  FoundryReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "llm-foundry") {}

  Result<Reading> read() {
    read_model();
    read_sharding();
    read_batch();
    read_.set_framework("llm-foundry");
    return read_.finish("an LLM Foundry configuration");
  }

 private:
  void read_model() {
    const std::string kind = read_.text("model.name");
    if (kind == "hf_causal_lm") {
      constexpr const char* kName = "model.pretrained_model_name_or_path";
      const std::string name = read_.text(kName);
      const auto* entry = spec::find_hub_model(name);
      if (name.empty()) return read_.refuse(kName, "a model's name");
      read_.set("model", entry == nullptr ? name : entry->name, kName);
      for (const char* size : {"num_hidden_layers", "hidden_size", "intermediate_size",
                               "num_attention_heads", "num_key_value_heads", "vocab_size"})
        if (const auto key = fmt::format("model.config_overrides.{}", size); read_.has(key))
          read_.refuse(key, "none: the model would be another one than its name says");
      return read_adapter();
    }
    if (kind != "mpt_causal_lm") return read_.refuse("model.name", "mpt_causal_lm, hf_causal_lm");
    const auto hidden = size("model.d_model"), heads = size("model.n_heads"),
               layers = size("model.n_layers"), vocabulary = size("model.vocab_size");
    const double ratio = base::parse_number(read_.text("model.expansion_ratio", "4")).value_or(0);
    if (!(ratio > 0 && ratio < 100)) return read_.refuse("model.expansion_ratio", "0 to 100");
    const auto positions = read_.integer("model.max_seq_len", 1).value_or(2048);
    const std::string type = read_.text("model.ffn_config.ffn_type", "mptmlp");
    if (type != "mptmlp") return read_.refuse("model.ffn_config.ffn_type", "mptmlp");
    constexpr const char* kAttention = "model.attn_config.attn_type";
    const std::string kind_of_attention = read_.text(kAttention, "multihead_attention");
    const auto groups = read_.integer("model.attn_config.kv_n_heads", 1);
    const bool grouped = kind_of_attention == "grouped_query_attention";
    if (!grouped && kind_of_attention != "multihead_attention" &&
        kind_of_attention != "multiquery_attention")
      return read_.refuse(kAttention,
                          "multihead_attention, multiquery_attention, grouped_query_attention");
    if (grouped && !groups) return read_.refuse("model.attn_config.kv_n_heads", "a whole number");
    nlohmann::json of_attention = {
        {"alibi", read_.flag("model.attn_config.alibi", false)},
        {"attn_type", grouped ? "multihead_attention" : kind_of_attention}};
    if (grouped) of_attention["num_key_value_heads"] = *groups;
    read_.set("model",
              nlohmann::json{{"model_type", "mpt"},
                             {"d_model", hidden},
                             {"n_layers", layers},
                             {"n_heads", heads},
                             {"expansion_ratio", ratio},
                             {"vocab_size", vocabulary},
                             {"max_seq_len", positions},
                             {"no_bias", read_.flag("model.no_bias", false)},
                             {"attn_config", of_attention},
                             {"tie_word_embeddings", read_.flag("model.tie_word_embeddings", true)}}
                  .dump(),
              "model.d_model");
    const std::string attention = read_.text("model.attn_config.attn_impl", "flash");
    read_.set("attention_backend",
              attention == "flash"   ? "fa2"
              : attention == "torch" ? "unfused"
                                     : "fused",
              "model.attn_config.attn_impl");
    read_.set("dropout", read_.text("model.resid_pdrop", "0"), "model.resid_pdrop");
    for (const char* key : {"model.norm_type", "model.emb_pdrop", "model.init_device",
                            "model.learned_pos_emb", "model.attn_config.rope"})
      read_.find(key);
  }

  void read_adapter() {
    if (!read_.has_section("model.peft_config")) return;
    const std::string type = base::lower(read_.text("model.peft_config.peft_type", "lora"));
    if (type != "lora") return read_.refuse("model.peft_config.peft_type", "LORA");
    read_.set("mode", "lora", "model.peft_config.peft_type");
    read_lora(read_, "model.peft_config.r", "model.peft_config.target_modules");
  }

  int64_t size(const char* key) {
    const auto number = read_.integer(key, 1);
    if (!number || *number > 100'000'000) read_.refuse(key, "a whole number");
    return number.value_or(1);
  }

  void read_sharding() {
    const char* section = read_.has_section("parallelism_config.fsdp") ? "parallelism_config.fsdp"
                          : read_.has_section("fsdp_config")           ? "fsdp_config"
                                                                       : "";
    if (*section == '\0') {
      read_.set("zero", "0", "fsdp_config");
      read_.set("fsdp", "false", "fsdp_config");
      return;
    }
    const auto key = [&](const char* name) { return fmt::format("{}.{}", section, name); };
    const std::string strategy = read_.text(key("sharding_strategy"), "FULL_SHARD");
    const std::string word = base::lower(strategy);
    if (word == "no_shard") {
      read_.set("zero", "0", key("sharding_strategy"));
      read_.set("fsdp", "false", key("sharding_strategy"));
    } else if (word == "full_shard" || word == "shard_grad_op" || word == "hybrid_shard") {
      read_sharding_strategy(read_, word, key("sharding_strategy"));
    } else {
      read_.refuse(key("sharding_strategy"), kShardingStrategies);
    }
    const bool again = read_.flag(key("activation_checkpointing"), false);
    set_recomputation(read_, again, key("activation_checkpointing"));
    if (read_.flag(key("activation_cpu_offload"), false))
      read_.not_modelled(key("activation_cpu_offload"), kActivationsWait);
    const std::string mixed = base::lower(read_.text(key("mixed_precision"), "default"));
    read_.set_flag("grad_reduce_in_bf16", mixed == "pure", key("mixed_precision"));
  }

  void read_batch() {
    if (!read_.copy_count("max_seq_len", "seq_length"))
      read_.refuse("max_seq_len", "a whole number");
    // Its collator fills sequences up, by padding or, of packing_ratio, by more texts, over which
    // attention goes as over one.
    constexpr const char* kTrims = "train_loader.dataset.allow_pad_trimming";
    if (read_.flag(kTrims, false) && !read_.has("train_loader.dataset.packing_ratio"))
      read_.not_modelled(kTrims, kLengthsOfData);
    read_.copy_count("global_train_batch_size", "global_batch_size");
    constexpr const char* kMicro = "device_train_microbatch_size";
    if (!read_.copy_count(kMicro, "micro_batch_size"))
      read_.reading().open["micro_batch_size"] =
          fmt::format("{}: {}: \"auto\" finds the largest that fits while it runs; give --mbs",
                      read_.file(), kMicro);
    const std::string precision = base::lower(read_.text("precision", "amp_bf16"));
    if (precision != "amp_bf16" && precision != "amp_fp16" && precision != "fp32" &&
        precision != "amp_fp8" && precision != "bf16")
      return read_.refuse("precision", "amp_bf16, amp_fp16, amp_fp8, fp32");
    read_.set("precision", precision.starts_with("amp_") ? precision.substr(4) : precision,
              "precision");
    const std::string optimizer = base::lower(read_.text("optimizer.name", "decoupled_adamw"));
    if (!base::contains(optimizer, "adam")) read_.not_modelled("optimizer.name", kOtherOptimizer);
  }

  FlatReader read_;
};

}  // namespace

Result<Reading> parse_foundry(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  return FoundryReader(values, file).read();
}

}  // namespace ergometer::intake
