#include "spec/files/nemo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/model/layer_pattern.h"
#include "spec/model/tokenizers.h"
#include "spec/recipe/recipe.h"

namespace ergometer::spec {
namespace {

/// A word of NeMo's and ours.
struct Direct {
  std::string_view key, setting;
};

/// NeMo keys that are sizes of the model, under Megatron's names.
constexpr std::array kSizes = std::to_array<Direct>({
    {"model.num_layers", "num_layers"},
    {"model.hidden_size", "hidden_size"},
    {"model.ffn_hidden_size", "ffn_hidden_size"},
    {"model.num_attention_heads", "num_attention_heads"},
    {"model.kv_channels", "kv_channels"},
    {"model.max_position_embeddings", "max_position_embeddings"},
    {"model.num_moe_experts", "num_experts"},
    {"model.moe_router_topk", "moe_router_topk"},
    {"model.moe_ffn_hidden_size", "moe_ffn_hidden_size"},
    {"model.moe_shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"},
});

/// Names of LoRA's target modules in NeMo and in the setting table, in the order of the latter.
constexpr std::array kTargets = std::to_array<Direct>({
    {"attention_qkv", "qkv"},
    {"attention", "qkv"},
    {"all", "qkv"},
    {"attention_dense", "proj"},
    {"attention", "proj"},
    {"all", "proj"},
    {"mlp_fc1", "fc1"},
    {"mlp", "fc1"},
    {"all", "fc1"},
    {"mlp_fc2", "fc2"},
    {"mlp", "fc2"},
    {"all", "fc2"},
});

/// Optimizers that shard their states over data-parallel ranks.
constexpr std::array kShardingOptimizers =
    std::to_array<std::string_view>({"distributed_fused_adam", "mcore_distributed_optim"});

class NemoReader {
 public:
  NemoReader(const FlatYaml& values, const std::string& file, std::vector<std::string>& notes)
      : values_(values), file_(file), notes_(notes) {}

  Result<Settings> read() {
    for (const SettingInfo& info : setting_table())
      for (const std::string& key : info.names(info.nemo)) copy("model." + key, info.name);
    ERGOMETER_TRY(read_gpus());
    ERGOMETER_TRY(read_precision());
    ERGOMETER_TRY(read_task());
    read_batches();
    ERGOMETER_TRY(check_optimizer());
    read_sharding();
    read_overlap();
    read_kernels();
    ERGOMETER_TRY(read_model());
    ERGOMETER_TRY(flags_);
    return std::move(settings_);
  }

  /// Why the model is not known although the file has one; empty otherwise.
  const std::string& model_open() const { return model_open_; }

  std::vector<std::string> unused() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_)
      if (used_.find(key) == used_.end()) keys.push_back(key);
    return keys;
  }

 private:
  const FlatValue* find(std::string_view key) {
    const auto it = values_.find(key);
    if (it == values_.end()) return nullptr;
    used_.insert(it->first);
    return &it->second;
  }
  std::string text(std::string_view key, std::string_view fallback = "") {
    const FlatValue* value = find(key);
    return value == nullptr ? std::string(fallback) : value->text;
  }
  /// The first that is neither is kept for the end.
  bool flag(std::string_view key, bool fallback) {
    constexpr std::array kNo = std::to_array<std::string_view>({"false", "no", "off", "0", "none"});
    const std::string word = base::lower(text(key));
    if (word.empty()) return fallback;
    if (says_yes(word) || base::contains(kNo, word)) return says_yes(word);
    if (flags_) flags_ = wrong(key, "true or false");
    return fallback;
  }
  Origin origin(std::string_view key) {
    const FlatValue* value = find(key);
    const std::string where = value == nullptr      ? file_
                              : value->from.empty() ? fmt::format("{}:{}", file_, value->line)
                                                    : value->from;
    return {where, std::string(key)};
  }
  void copy(std::string_view key, std::string_view setting) {
    if (const FlatValue* value = find(key)) settings_.set(setting, value->text, origin(key));
  }
  void set_default(std::string_view setting, std::string value) {
    settings_.set(setting, std::move(value), Origin{fmt::format("{}, NeMo's default", file_), ""});
  }
  tl::unexpected<base::Error> wrong(std::string_view key, std::string_view allowed) {
    return input_error("{}: {}: found \"{}\"; allowed: {}", origin(key).text, key,
                       text(key).substr(0, 60), allowed);
  }

  Result<void> read_gpus() {
    int64_t product = 1;
    for (const char* key : {"trainer.num_nodes", "trainer.devices"}) {
      if (find(key) == nullptr) return {};
      const auto number = base::parse_integer(text(key));
      if (!number || *number < 1 || *number > 1'000'000)
        return wrong(key, "a whole number from 1 to 1000000");
      product *= *number;
    }
    settings_.set("gpus", std::to_string(product), origin("trainer.num_nodes"));
    return {};
  }

  Result<void> read_precision() {
    const std::string word = text("trainer.precision", "bf16");
    // A number format, or one that is mixed or all there is.
    const std::string_view format = std::string_view(word).substr(0, word.find('-')),
                           kind = std::string_view(word).substr(format.size());
    const bool bf16 = format == "bf16", fp16 = format == "16", fp32 = format == "32";
    if ((!bf16 && !fp16 && !fp32) || (!kind.empty() && kind != "-mixed" && kind != "-true"))
      return wrong("trainer.precision", "bf16, bf16-mixed, 16, 16-mixed, 32");
    if (!flag("model.fp8", false)) {
      settings_.set("precision",
                    bf16   ? "bf16"
                    : fp16 ? "fp16"
                           : "fp32",
                    origin("trainer.precision"));
    }
    const bool narrow = text("model.optim.grad_sync_dtype") == "bf16" ||
                        text("model.fsdp_grad_reduce_dtype") == "bf16";
    settings_.set("grad_reduce_in_bf16", narrow ? "true" : "false",
                  origin("model.optim.grad_sync_dtype"));
    return {};
  }

  Result<void> read_task() {
    const FlatValue* tokens = find("inference.tokens_to_generate");
    const bool adapters = text("model.peft.peft_scheme") == "lora";
    if (adapters) {
      copy("model.peft.lora_tuning.adapter_dim", "lora");
      if (settings_.find("lora") == nullptr) set_default("lora", "32");
      ERGOMETER_TRY(read_targets());
    } else if (tokens != nullptr) {
      copy("inference.tokens_to_generate", "generate_tokens");
      inference_ = true;
    }
    return {};
  }

  Result<void> read_targets() {
    constexpr std::string_view kKey = "model.peft.lora_tuning.target_modules";
    const std::vector<std::string> listed = base::split(text(kKey, "attention_qkv"), ',');
    std::string targets;
    std::string_view last;
    for (const Direct& target : kTargets) {
      if (!base::contains(listed, target.key)) continue;
      if (target.setting != last)
        targets += (targets.empty() ? "" : ",") + std::string(target.setting);
      last = target.setting;
    }
    const bool known = std::ranges::all_of(listed, [](const std::string& word) {
      return std::ranges::any_of(kTargets,
                                 [&](const Direct& target) { return target.key == word; });
    });
    if (!known || targets.empty())
      return wrong(kKey, "attention_qkv, attention_dense, mlp_fc1, mlp_fc2, attention, mlp, all");
    settings_.set("lora_targets", targets, origin(kKey));
    return {};
  }

  /// Fine-tuning and inference keep their batches with the data set.
  void read_batches() {
    // Only fine-tuning, of adapters or of all weights, has such a set.
    const bool tunes = settings_.find("lora") != nullptr ||
                       (!inference_ && values_.contains("model.data.train_ds.max_seq_length"));
    const std::string set = tunes ? "model.data.train_ds." : "model.data.test_ds.";
    if (tunes || inference_) {
      copy(set + "micro_batch_size", "micro_batch_size");
      copy(set + "global_batch_size", "global_batch_size");
    }
    copy("model.encoder_seq_length", "seq_length");
    copy("model.data.seq_length", "seq_length");
    if (tunes || inference_) copy(set + "max_seq_length", "seq_length");
  }

  /// PyTorch's FSDP: "full", "hybrid" (a copy a node), "grad" (parameters stay gathered).
  void read_strategy() {
    constexpr const char* kStrategy = "model.fsdp_sharding_strategy";
    const std::string strategy = text(kStrategy, "full");
    if (strategy == "hybrid") settings_.set("fsdp_shard_size", "node", origin(kStrategy));
    if (strategy != "grad") return;
    settings_.set("fsdp", "false", origin(kStrategy));
    settings_.set("framework", "fsdp", origin(kStrategy));
    settings_.set("zero", "2", origin(kStrategy));
    settings_.set("overlap_grad_reduce", "true", origin(kStrategy));
  }

  /// One that is nearly an optimizer that shards its states; there are others, of one's own too.
  Result<void> check_optimizer() {
    constexpr const char* kName = "model.optim.name";
    constexpr size_t kMostEdits = 2;
    for (const std::string_view name : kShardingOptimizers)
      if (const size_t edits = base::edit_distance(text(kName), name);
          edits > 0 && edits <= kMostEdits)
        return wrong(kName, fmt::format("{} among others; did you mean {}?",
                                        fmt::join(kShardingOptimizers, ", "), name));
    return {};
  }

  void read_sharding() {
    const std::string optimizer = text("model.optim.name", "fused_adam");
    const bool distributed = base::contains(kShardingOptimizers, optimizer);
    const bool fsdp = flag("model.fsdp", false);
    settings_.set("fsdp", fsdp ? "true" : "false", origin("model.fsdp"));
    settings_.set("zero",
                  fsdp                         ? "3"
                  : distributed && !inference_ ? "1"
                                               : "0",
                  origin("model.optim.name"));
    if (fsdp) read_strategy();
    const bool parallel = flag("model.sequence_parallel", false);
    const bool possible = text("model.tensor_model_parallel_size", "1") != "1";
    settings_.set("sequence_parallel", parallel && possible ? "true" : "false",
                  origin("model.sequence_parallel"));
  }

  void read_overlap() {
    const bool distributed = settings_.find("zero")->text == "1", fsdp = flag("model.fsdp", false);
    for (const auto& [key, setting] :
         {std::pair("model.optim.overlap_grad_sync", "overlap_grad_reduce"),
          std::pair("model.optim.overlap_param_sync", "overlap_param_gather")})
      if (!fsdp)
        settings_.set(setting, distributed && flag(key, false) ? "true" : "false", origin(key));
    const bool asked = flag("model.ub_tp_comm_overlap", false);
    const bool possible = settings_.find("sequence_parallel")->text == "true" && !fsdp;
    settings_.set("tp_comm_overlap", asked && possible ? "true" : "false",
                  origin("model.ub_tp_comm_overlap"));
    if (asked && !possible)
      notes_.push_back(
          "NeMo switches ub_tp_comm_overlap off without sequence parallelism and with FSDP");
    const bool overlaps = flag("model.overlap_p2p_comm", false);
    settings_.set("overlap_p2p", overlaps ? "true" : "false", origin("model.overlap_p2p_comm"));
    if (!overlaps && find("model.batch_p2p_sync") == nullptr) set_default("batch_p2p_sync", "true");
    read_bucket();
  }

  /// Megabytes of the reduction's number format.
  void read_bucket() {
    const auto megabytes = base::parse_number(text("model.optim.bucket_cap_mb"));
    if (!megabytes || *megabytes <= 0) return;
    const double width = settings_.find("grad_reduce_in_bf16")->text == "true" ? 2 : 4;
    settings_.set("ddp_bucket_size", fmt::format("{:.0f}", *megabytes * 1048576 / width),
                  origin("model.optim.bucket_cap_mb"));
  }

  void read_kernels() {
    const bool flash = flag("model.use_flash_attention", true);
    settings_.set("attention_backend", flash ? "fused" : "unfused",
                  origin("model.use_flash_attention"));
    if (flag("model.fsdp", false) || settings_.find("gradient_accumulation_fusion") == nullptr)
      set_default("gradient_accumulation_fusion", "false");
    if (settings_.find("apply_rope_fusion") == nullptr) set_default("apply_rope_fusion", "false");
    // NeMo looks at them for whole layers alone.
    const auto* granularity = settings_.find("recompute_granularity");
    if (granularity == nullptr || granularity->text != "full")
      for (const char* setting : {"recompute_method", "recompute_num_layers"})
        settings_.erase(setting);
  }

  Result<void> read_model() {
    if (find("model.num_layers") == nullptr || find("model.hidden_size") == nullptr) return {};
    nlohmann::json model = {{"model_type", "megatron"}, {"group_query_attention", true}};
    if (const std::string name = text("run.name"); !name.empty()) model["_name_or_path"] = name;
    for (const Direct& size : kSizes) {
      const FlatValue* value = find(size.key);
      if (value == nullptr) continue;
      const auto number = base::parse_integer(value->text);
      if (!number || *number < 1) return wrong(size.key, "a whole number of at least 1");
      model[size.setting] = *number;
    }
    const std::string groups = text("model.num_query_groups", text("model.num_attention_heads"));
    const auto kv_heads = base::parse_integer(groups);
    if (!kv_heads) return wrong("model.num_query_groups", "a whole number of at least 1, or null");
    model["num_query_groups"] = *kv_heads;
    if (!model.contains("max_position_embeddings"))
      if (const auto positions = base::parse_integer(text("model.encoder_seq_length")))
        model["max_position_embeddings"] = *positions;
    ERGOMETER_TRY(read_window(model));
    ERGOMETER_TRY(read_flavour(model));
    if (!read_vocabulary(model)) return {};
    settings_.set("model", base::json_line(model), origin("model.num_layers"));
    return {};
  }

  /// Megatron-Core's, in all layers or in all but some.
  Result<void> read_window(nlohmann::json& model) {
    constexpr const char* kWindow = "model.window_size";
    constexpr const char* kSkips = "model.window_attn_skip_freq";
    if (const std::string said = text(kWindow); !said.empty()) {
      const auto window = parse_attention_window(said);
      if (!window) return wrong(kWindow, "two whole numbers such as [128, 0]");
      model["window_size"] = *window;
    }
    const std::string skips = text(kSkips);
    if (const auto every = base::parse_integer(skips))
      model["window_attn_skip_freq"] = *every;
    else if (!skips.empty())
      model["window_attn_skip_freq"] = skips;
    return {};
  }

  Result<void> read_flavour(nlohmann::json& model) {
    const std::string activation = text("model.activation", "gelu");
    if (activation.ends_with("swiglu") || activation.ends_with("geglu") ||
        activation.ends_with("reglu")) {
      model["swiglu"] = true;
      model["hidden_act"] = activation.ends_with("swiglu")  ? "silu"
                            : activation.ends_with("geglu") ? "gelu"
                                                            : "relu";
    } else if (activation == "squared-relu" || activation == "relu" || activation == "gelu" ||
               activation == "openai-gelu") {
      model["hidden_act"] = activation == "squared-relu" ? "relu2"
                            : activation == "relu"       ? "relu"
                                                         : "gelu";
    } else {
      return wrong("model.activation",
                   "gelu, openai-gelu, relu, squared-relu, swiglu, geglu, reglu (and fast-...)");
    }
    const std::string norm = text("model.normalization", "layernorm");
    if (norm != "rmsnorm" && norm != "layernorm" && norm != "layernorm1p" &&
        norm != "low_precision_layernorm")
      return wrong("model.normalization",
                   "layernorm, layernorm1p, low_precision_layernorm, rmsnorm");
    if (const std::string softmax = text("model.softmax_type"); !softmax.empty())
      model["softmax_type"] = softmax;
    model["normalization"] = norm == "rmsnorm" ? "RMSNorm" : "LayerNorm";
    model["add_bias_linear"] = flag("model.bias", true);
    model["position_embedding_type"] = text("model.position_embedding_type", "learned_absolute");
    model["untie_embeddings_and_output_weights"] =
        !flag("model.share_embeddings_and_output_weights", true);
    if (const auto dropout = base::parse_number(text("model.hidden_dropout")))
      model["hidden_dropout"] = *dropout;
    return {};
  }

  /// False where it is not known: then so is the model, unless it is named elsewhere.
  bool read_vocabulary(nlohmann::json& model) {
    const std::string type = text("model.tokenizer.type"), name = text("model.tokenizer.model");
    text("model.tokenizer.library");
    const auto given = base::parse_integer(text("model.tokenizer.vocab_size"));
    int64_t vocabulary = given ? *given : tokenizer_vocabulary(type);
    if (vocabulary == 0) vocabulary = tokenizer_vocabulary(name);
    if (vocabulary > 0) {
      model["vocab_size"] = vocabulary;
      return true;
    }
    model_open_ = fmt::format(
        "{}: model.tokenizer: the vocabulary of \"{}\" is not known; give "
        "model.tokenizer.vocab_size, or --model",
        origin("model.tokenizer.type").text, type.empty() ? name : type);
    return false;
  }

  const FlatYaml& values_;
  const std::string& file_;
  std::vector<std::string>& notes_;
  std::set<std::string, std::less<>> used_;
  Settings settings_;
  std::string model_open_;
  bool inference_ = false;
  Result<void> flags_;
};

}  // namespace

Result<Settings> settings_from_nemo(const FlatYaml& values, const std::string& file,
                                    std::vector<std::string>& ignored,
                                    std::vector<std::string>& notes, std::string* model_open) {
  NemoReader reader(values, file, notes);
  ERGOMETER_ASSIGN(Settings settings, reader.read());
  if (!reader.model_open().empty()) {
    if (model_open == nullptr) return input_error(reader.model_open());
    *model_open = reader.model_open();
  }
  const std::vector<std::string> unused = reader.unused();
  ignored.insert(ignored.end(), unused.begin(), unused.end());
  return settings;
}

Result<Settings> parse_nemo(const std::string& text, const std::string& file,
                            std::vector<std::string>& ignored) {
  ERGOMETER_ASSIGN(const FlatYaml values, flatten_yaml(text, file));
  std::vector<std::string> notes;
  ERGOMETER_ASSIGN(Settings settings, settings_from_nemo(values, file, ignored, notes));
  set_framework(settings, "nemo-1", file);
  return settings;
}

}  // namespace ergometer::spec
