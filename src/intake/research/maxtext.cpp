#include "intake/research/maxtext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/model/model_names.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

/// A size of the model and what base.yml says of it.
struct BaseSize {
  std::string_view name, ours;
  int64_t fallback;
};
constexpr std::array kBaseSizes =
    std::to_array<BaseSize>({{"base_emb_dim", "hidden_size", 2048},
                             {"base_num_query_heads", "num_attention_heads", 16},
                             {"base_num_kv_heads", "num_key_value_heads", 16},
                             {"base_mlp_dim", "intermediate_size", 7168},
                             {"base_num_decoder_layers", "num_hidden_layers", 16},
                             {"head_dim", "head_dim", 128},
                             {"vocab_size", "vocab_size", 32000}});

class MaxTextReader {
 public:
  MaxTextReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "maxtext") {}

  Result<Reading> read() {
    if (const std::string hardware = read_.text("hardware", "gpu"); !hardware.starts_with("gpu"))
      read_.refuse("hardware", "gpu, gpu_multiprocess: TPUs are not modelled");
    // A path from MaxText's own folders, "../base.yml".
    if (const std::string below = read_.text("base_config", "base.yml");
        !below.empty() && base::last_part(below, '/') != "base.yml")
      read_.refuse("base_config", "base.yml: write the values of another file here");
    read_model();
    read_layout();
    read_batch();
    read_number_format();
    read_recomputation();
    read_attention();
    read_.set_framework("maxtext");
    Result<Reading> reading = read_.finish("a configuration of MaxText");
    if (reading && !model_is_open_.empty()) reading->open["model"] = model_is_open_;
    return reading;
  }

 private:
  /// What --model says in its place.
  void leave_model_open(std::string_view key, std::string_view known) {
    if (model_is_open_.empty())
      model_is_open_ = fmt::format("{}: {}: found \"{}\", known: {}; give --model",
                                   read_.origin(key).text, key, read_.text(key), known);
  }
  void read_model() {
    const std::string name = read_.text("model_name", "default");
    if (name == "default") return read_sizes();
    const auto* entry = spec::find_hub_model(name);
    if (entry == nullptr) return leave_model_open("model_name", "default, models of the catalog");
    // Those of a file give way, as base.yml's own do.
    for (const BaseSize& size : kBaseSizes)
      if (const auto* said = read_.find(size.name); said != nullptr && said->line < 0)
        read_.refuse(size.name, "none beside model_name, which says the model's sizes");
    read_.set("model", entry->name, "model_name");
  }
  void read_sizes() {
    if (const int64_t scale = read_.integer("global_parameter_scale", 1).value_or(1); scale != 1)
      return leave_model_open("global_parameter_scale", "1");
    if (const std::string block = read_.text("decoder_block", "llama2");
        block != "llama2" && block != "mistral" && block != "default")
      return leave_model_open("decoder_block", "llama2, mistral");
    if (const std::string gate = read_.text("mlp_activations", "silu,linear");
        gate != "silu,linear")
      return leave_model_open("mlp_activations", "silu,linear");
    if (read_.integer("num_experts", 1).value_or(1) > 1)
      return leave_model_open("num_experts", "1");
    nlohmann::json model = {
        {"model_type", "llama"},
        {"max_position_embeddings", read_.integer("max_target_length", 1).value_or(2048)},
        {"tie_word_embeddings", read_.flag("logits_via_embedding", false)}};
    for (const BaseSize& size : kBaseSizes) {
      constexpr int64_t kMost = 100'000'000;
      const int64_t number = read_.integer(size.name, 1).value_or(size.fallback);
      if (number > kMost) return read_.refuse(size.name, "a whole number");
      model[size.ours] = number;
    }
    read_.set("model", model.dump(), "base_emb_dim");
  }

  /// Of an axis within a node's network (ici) and across (dcn); 0: what is left over.
  int64_t degree(std::string_view axis, bool inside) {
    const auto key = fmt::format("{}_{}_parallelism", inside ? "ici" : "dcn", axis);
    const int64_t rest = (inside && axis == "fsdp") || (!inside && axis == "data") ? -1 : 1;
    const int64_t number = read_.integer(key, -1).value_or(rest);
    if (number == 0 || number > spec::kMostRanks) read_.refuse(key, "-1, or a number of GPUs");
    if (number < 0 && axis != "fsdp" && axis != "data")
      read_.refuse(key, "a number of GPUs: -1 is read of FSDP and data alone");
    if (number < 0) rest_ = true;
    return std::clamp<int64_t>(number, 0, spec::kMostRanks);
  }
  int64_t both(std::string_view axis) {
    return std::max<int64_t>(1, degree(axis, true)) * std::max<int64_t>(1, degree(axis, false));
  }
  static std::string key_of(std::string_view axis) {
    return fmt::format("ici_{}_parallelism", axis);
  }
  void divide(std::string_view axis, int64_t by, std::string_view setting) {
    if (by > spec::kMostRanks)
      return read_.refuse(key_of(axis), "at most {} GPUs", spec::kMostRanks);
    if (by > 1) read_.set_count(setting, by, key_of(axis));
  }

  void read_layout() {
    const int64_t tensors = both("tensor"), stages = both("pipeline"), experts = both("expert"),
                  context = both("context");
    for (const char* other : {"tensor_transpose", "tensor_sequence", "fsdp_transpose", "sequence",
                              "autoregressive", "context_autoregressive"})
      if (both(other) > 1)
        read_.refuse(key_of(other), "1: how it divides the work is not modelled");
    divide("tensor", tensors, "tensor_model_parallel_size");
    // Its rules lay sequences along other axes.
    if (tensors > 1) read_.set("sequence_parallel", "false", key_of("tensor"));
    divide("pipeline", stages, "pipeline_model_parallel_size");
    divide("expert", experts, "expert_model_parallel_size");
    divide("context", context, "context_parallel_size");
    if (experts > 1)
      return read_.refuse(key_of("expert"), "1: how MaxText lays experts out is not modelled");
    whole_ =
        static_cast<double>(tensors) * static_cast<double>(stages) * static_cast<double>(context);
    const int64_t inside = degree("fsdp", true), across = degree("fsdp", false),
                  copies = degree("data", true), more = degree("data", false);
    const bool rest = rest_;
    const int64_t shards = inside * across;
    // Along "data" every slice, on GPUs a node, keeps a copy.
    const bool replicated = more != 1 || copies != 1;
    if (shards == 1) {
      read_.set("fsdp", "false", key_of("fsdp"));
      set_replicated(read_, key_of("fsdp"));
    } else {
      read_sharding_strategy(read_, replicated ? "hybrid_shard" : "full_shard", key_of("fsdp"));
      if (replicated && shards > 1) read_hybrid_shards(read_, shards, key_of("fsdp"));
    }
    const double all = whole_ * static_cast<double>(shards) * static_cast<double>(copies) *
                       static_cast<double>(more);
    if (rest || all < 1) return unsaid_gpus();
    if (all > static_cast<double>(spec::kMostRanks))
      return read_.refuse(key_of("fsdp"), "at most {} GPUs", spec::kMostRanks);
    read_.set_count("gpus", std::llround(all), key_of("fsdp"));
  }
  void unsaid_gpus() {
    read_.reading().unsaid["gpus"] =
        "how many GPUs it is started on is not said: one node's, unless --gpus says another number";
  }

  /// A device's share of a batch: GPUs that hold one copy together bring theirs together.
  void read_batch() {
    constexpr const char *kBatch = "per_device_batch_size",
                         *kPasses = "gradient_accumulation_steps";
    const auto each = base::parse_number(read_.text(kBatch, "12"));
    const double together = each.value_or(0) * whole_;
    if (!each || !(together >= 1) || together > 1e6 || std::floor(together) != together)
      return read_.refuse(kBatch, "whole sequences for the {} GPUs that share one", whole_);
    // A pipeline parts the batch of a step; its micro batches are told otherwise.
    if (read_.said().find("pipeline_model_parallel_size") != nullptr) {
      const auto parts = read_.integer("num_pipeline_microbatches", -1);
      if (!parts || *parts < 1 || std::fmod(together, static_cast<double>(*parts)) != 0)
        return read_.refuse("num_pipeline_microbatches", "a number that divides the batch, {}",
                            together);
      read_.set_count("micro_batch_size", std::llround(together) / *parts, kBatch);
      read_.set_count("gradient_accumulation_steps", *parts * read_.integer(kPasses, 1).value_or(1),
                      kBatch);
    } else {
      read_.set_count("micro_batch_size", std::llround(together), kBatch);
      read_.copy_count_or(kPasses, "gradient_accumulation_steps", 1);
    }
    read_.copy_count_or("max_target_length", "seq_length", 2048);
    read_.find("global_batch_size");
  }

  void read_number_format() {
    const std::string type = read_.text("dtype", "bfloat16");
    if (type != "bfloat16" && type != "float32") return read_.refuse("dtype", "bfloat16, float32");
    const std::string narrow = base::lower(read_.text("quantization"));
    const bool eight = base::contains(narrow, "fp8");
    read_.set("precision",
              eight                ? "fp8"
              : type == "bfloat16" ? "bf16"
                                   : "fp32",
              eight ? "quantization" : "dtype");
    if (!narrow.empty() && !eight)
      read_.not_modelled("quantization", "time: products in other formats; predicted in 16 bit");
    if (read_.text("weight_dtype", "float32") != "float32")
      read_.set("master_weights", "false", "weight_dtype");
    if (const std::string optimizer = read_.text("opt_type", "adamw"); optimizer != "adamw")
      read_.not_modelled("opt_type", kOtherOptimizer);
  }

  void read_recomputation() {
    constexpr const char* kPolicy = "remat_policy";
    const std::string policy = base::lower(read_.text(kPolicy, "full"));
    if (base::contains(policy, "offload")) read_.not_modelled(kPolicy, kActivationsWait);
    constexpr std::array kPolicies = std::to_array<std::string_view>(
        {"full", "none", "minimal", "minimal_flash", "minimal_with_context",
         "minimal_with_quantization", "minimal_with_context_and_quantization", "minimal_offloaded",
         "save_dot_except_mlp", "save_dot_except_mlpwi", "save_dot_with_context_except_mlp",
         "save_qkv_proj", "save_out_proj", "qkv_proj_offloaded", "custom"});
    if (!base::contains(kPolicies, policy))
      return read_.refuse(kPolicy, "{}", fmt::join(kPolicies, ", "));
    if (policy == "full" || policy == "none")
      return read_.set("recompute_granularity", policy, kPolicy);
    // Outputs of matrix products are kept, what lies between them is not.
    read_.set("recompute_granularity", "selective", kPolicy);
    const bool attention = policy == "minimal" || policy == "minimal_offloaded";
    read_.set("recompute_modules", attention ? "core_attn,layernorm" : "layernorm", kPolicy);
    if (!policy.starts_with("minimal"))
      read_.not_modelled(kPolicy,
                         "memory and time: which products are computed again; predicted as none");
  }

  void read_attention() {
    const std::string kind = read_.text("attention", "autoselected");
    constexpr std::array kKinds = std::to_array<std::string_view>(
        {"autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax"});
    if (!base::contains(kKinds, kind))
      return read_.refuse("attention", "{}", fmt::join(kKinds, ", "));
    if (kind == "dot_product") read_.set("attention_backend", "unfused", "attention");
    if (kind == "cudnn_flash_te" || kind == "cudnn_flash_jax")
      read_.set("attention_backend", "cudnn", "attention");
  }

  FlatReader read_;
  std::string model_is_open_;  ///< why
  bool rest_ = false;
  double whole_ = 1;  ///< GPUs that hold one copy together, other than by its shards
};

}  // namespace

Result<Reading> parse_maxtext(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values,
                   spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  return MaxTextReader(values, file).read();
}

}  // namespace ergometer::intake
