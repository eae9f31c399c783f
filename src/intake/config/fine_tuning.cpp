#include "intake/config/fine_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/deepspeed.h"
#include "intake/config/fine_tuning_words.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/shared_words.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

using Takes = FineTuningWord::Takes;

std::string precision_of(std::string_view word) {
  const std::string type = base::lower(word);
  if (base::contains(type, "bf16") || base::contains(type, "bfloat16")) return "bf16";
  if (base::contains(type, "16")) return "fp16";
  return base::contains(type, "32") ? "fp32" : "";
}

class FineTuningReader {
 public:
  FineTuningReader(std::string_view framework, const spec::FlatYaml& words, const std::string& file,
                   std::string_view command)
      : framework_(framework), command_(command), read_(words, file, options_of(framework)) {}

  Result<Reading> read() {
    for (const FineTuningWord& word : fine_tuning_words())
      if (word.framework == framework_) take(word);
    if (framework_ == "OpenRLHF") read_openrlhf();
    if (framework_ == "verl") read_verl();
    if (framework_ == "LitGPT") read_litgpt();
    if (framework_ == "NeMo AutoModel") read_automodel();
    if (framework_ == "llama-recipes") read_llama_recipes();
    if (framework_ == "ColossalAI") read_colossalai();
    return read_.finish(fmt::format("a configuration of {}", framework_));
  }

 private:
  static std::string options_of(std::string_view framework) {
    std::string name = base::lower(framework);
    std::ranges::replace(name, ' ', '-');
    return name;
  }

  void take(const FineTuningWord& word) {
    bool said = false;
    if (word.takes == Takes::kModel) said = take_model(word.word);
    if (word.takes == Takes::kCount) said = read_.copy_count(word.word, word.setting);
    if (word.takes == Takes::kPrecision) said = take_precision(word.word);
    if (word.takes == Takes::kAttention) said = take_attention(word.word);
    if (const auto on = word.takes == Takes::kSwitch ? read_.said_flag(word.word) : std::nullopt) {
      said = *on || !word.otherwise.empty();
      if (said) read_.set(word.setting, *on ? std::string(word.on) : off(word), word.word);
    }
    if (!said && !word.otherwise.empty() && read_.said().find(word.setting) == nullptr)
      read_.set_default(word.setting, std::string(word.otherwise), by_default(word.word));
  }
  /// What a switch that is off sets.
  static std::string off(const FineTuningWord& word) {
    return word.otherwise != word.on                 ? std::string(word.otherwise)
           : word.setting == "recompute_granularity" ? "none"
                                                     : "false";
  }
  std::string by_default(std::string_view word) const {
    return fmt::format("{}'s default {}", framework_, word);
  }
  bool take_model(std::string_view word) {
    std::string name = read_.text(word);
    if (is_off(name)) return false;
    // LitGPT keeps what it fetched in a folder by the model's name.
    if (const size_t at = name.find("checkpoints/"); framework_ == "LitGPT" && at != name.npos)
      name.erase(0, at + std::string_view("checkpoints/").size());
    read_.set("model", spec::relocated_value(*spec::find_setting("model"), name, read_.file()),
              word);
    return true;
  }
  bool take_precision(std::string_view word) {
    const std::string said = read_.text(word);
    if (is_off(said)) return false;
    const std::string precision = precision_of(said);
    if (precision.empty()) read_.refuse(word, "bf16, fp16 or 32 bit");
    read_.set("precision", precision, word);
    return true;
  }

  bool take_attention(std::string_view word) {
    const std::string said = base::lower(read_.text(word));
    if (is_off(said)) return false;
    const std::string_view backend = backend_of_attention(said);
    if (backend.empty()) read_.refuse(word, "eager, sdpa, flash_attention_2, flash_attention_3");
    read_.set("attention_backend", std::string(backend), word);
    return true;
  }

  void framework(const char* recipe) { read_.set_framework(recipe); }
  /// Programs that call backward() in every micro batch, without no_sync around it.
  void reduces_every_micro_batch(const char* whose) {
    read_.set_default("reduce_every_micro_batch", "true", whose);
  }
  void shard(std::string_view key, std::string_view strategy = "full_shard") {
    if (!read_sharding_strategy(read_, strategy, key)) read_.refuse(key, kShardingStrategies);
  }
  /// Parameters, gradients and states without a copy in 32 bit.
  void all_in_16_bit(std::string_view key) { read_.set("master_weights", "false", key); }

  /// The frozen weights under adapters, in words like "bnb.nf4" or "4bit".
  void quantization(std::string_view key) {
    const std::string kind = base::lower(read_.text(key));
    if (kind.empty() || kind == "none" || kind == "null" || kind == "false") return;
    const std::string_view word = quantized_word(kind == "4bit" ? "nf4" : kind, false);
    if (word.empty())
      return read_.not_modelled(key,
                                "memory and time: how the model's own weights are kept; "
                                "predicted in 16 bits");
    if (read_.said().find("lora") == nullptr)
      return read_.refuse(key, "none without adapters: quantized weights are not trained");
    read_.set("quantize", std::string(word), key);
  }
  void length_is_open(std::string_view why) {
    if (read_.said().find("seq_length") == nullptr)
      read_.reading().open["seq_length"] = fmt::format("{}: {}; give --seq", read_.file(), why);
  }
  /// Adapters by a rank that is 0 where there are none.
  void adapters(std::string_view rank, std::string_view targets, std::string_view fallback) {
    if (is_off(read_.text(rank))) {
      read_.find(targets);
      return;
    }
    read_.copy_count(rank, "lora");
    std::string listed = read_.text(targets, fallback);
    std::ranges::replace(listed, ' ', ',');
    read_lora_targets(read_, targets, listed);
  }

  void read_openrlhf() {
    const int64_t stage = read_.integer("zero_stage", 0).value_or(2);
    if (stage == 0) read_.set("zero", "0", "zero_stage");
    if (stage > 3) read_.refuse("zero_stage", "0, 1, 2 or 3");
    set_deepspeed_defaults(stage, read_.file(), read_.reading());
    if (read_.flag("packing_samples", false))
      read_.not_modelled("packing_samples", kPackedDocuments);
    else
      read_.not_modelled("packing_samples", kLengthsOfData);
    adapters("lora_rank", "target_modules", "all-linear");
    if (read_.flag("load_in_4bit", false)) read_.set("quantize", "nf4-dq", "load_in_4bit");
    framework("deepspeed");
  }

  void read_verl() {
    read_.set_default("precision", "bf16", "verl's mixed precision");
    read_.set_default("grad_reduce_in_bf16", "false", "verl's mixed precision reduces in FP32");
    reduces_every_micro_batch("verl's loop");
    shard("model.strategy");
    if (read_.said().find("context_parallel_size") != nullptr)
      read_.set("cp_comm_type", "a2a", "ulysses_sequence_parallel_size");
    read_.not_modelled("data.max_length", kLengthsOfData);
    adapters("model.lora_rank", "model.target_modules", "all-linear");
    framework("transformers");
  }

  void read_litgpt() {
    const bool pretrains = command_ == "pretrain" || read_.has("model_name");
    if (command_.starts_with("finetune_adapter"))
      read_.fail(
          {base::ErrorKind::kInput,
           fmt::format("{}: litgpt {}: allowed: pretrain, finetune_full, finetune_lora; other "
                       "adapters are not modelled",
                       read_.file(), command_)});
    read_.set_default("micro_batch_size", pretrains ? "4" : "1", by_default("micro_batch_size"));
    read_.set_default("global_batch_size", pretrains ? "512" : "16",
                      by_default("global_batch_size"));
    if (read_.has("model_config")) read_.refuse("model_config", "none: --model says it");
    read_litgpt_gpus(pretrains);
    if (!pretrains) length_is_open("the data decide how long sequences are");
    if (base::contains(read_.text("precision"), "-true")) all_in_16_bit("precision");
    // Layers are checkpointed where it fine-tunes on several GPUs.
    if (!pretrains && read_.text("devices", "1") != "1")
      read_.set_default("recompute_granularity", "full", "what LitGPT checkpoints");
    if (command_ != "finetune_full" && !pretrains) read_litgpt_lora();
    quantization("quantize");
    framework("litgpt");
  }
  /// Nodes hold a copy each while it trains from scratch.
  void read_litgpt_gpus(bool pretrains) {
    const std::string each = read_.text("devices", pretrains ? "auto" : "1");
    const int64_t nodes = read_.count_for("gpus", "num_nodes", 1).value_or(1);
    const auto devices = base::parse_integer(each);
    if (!devices || read_.is_open("gpus")) {
      shard("devices", pretrains && nodes > 1 ? "hybrid_shard" : "full_shard");
      read_.reading().open.try_emplace(
          "gpus", fmt::format("{}: devices: all GPUs of {}; give --gpus", read_.file(),
                              nodes == 1 ? "its node" : fmt::format("{} nodes", nodes)));
      return;
    }
    if (*devices < 1 || *devices > spec::kMostRanks || nodes > spec::kMostRanks)
      return read_.refuse("devices", "a whole number");
    read_.set_count("gpus", *devices * nodes, "devices");
    read_.set_node_gpus(*devices, nodes, "devices");
    const bool hybrid = pretrains && nodes > 1;
    if (!read_sharding_strategy(read_, hybrid ? "hybrid_shard" : "full_shard", "devices", *devices))
      read_.refuse("devices", "a whole number");
  }
  void read_litgpt_lora() {
    if (command_ != "finetune_lora" && command_ != "finetune" && !read_.has("lora_r")) return;
    struct Part {
      std::string_view word, modules;
      bool otherwise;
    };
    constexpr std::array kParts = std::to_array<Part>({{"lora_query", "q_proj", true},
                                                       {"lora_key", "k_proj", false},
                                                       {"lora_value", "v_proj", true},
                                                       {"lora_projection", "o_proj", false},
                                                       {"lora_mlp", "w1,w2", false}});
    std::string modules, unknown;
    for (const Part& part : kParts)
      if (read_.flag(part.word, part.otherwise))
        modules += fmt::format("{}{}", modules.empty() ? "" : ",", part.modules);
    if (modules.empty())
      return read_.refuse("lora_query",
                          "true, or lora_key, lora_value, lora_projection or lora_mlp: adapters of "
                          "no matrix train nothing");
    const auto rank = read_.integer("lora_r", 1).value_or(8);
    read_.set("mode", "lora", "lora_r");
    read_.set_count("lora", rank, "lora_r");
    read_.set("lora_targets", *spec::lora_targets(modules, unknown), "lora_query");
  }

  void read_automodel() {
    read_automodel_manager();
    // Its own command starts the processes.
    const auto each = read_.count_for("gpus", "nproc_per_node", 1);
    if (each) {
      const int64_t nodes = read_.count_for("gpus", "nnodes", 1).value_or(1);
      if (!read_.is_open("gpus")) set_ranks(read_, "gpus", *each, nodes, "nproc_per_node");
    }
    constexpr const char* kPacked = "packed_sequence.packed_sequence_size";
    if (read_.integer(kPacked, -1).value_or(0) > 0) read_.not_modelled(kPacked, kPackedDocuments);
    length_is_open("without packed_sequence_size the data decide how long sequences are");
    if (read_.has_section("peft")) {
      read_.set_default("lora", "8", by_default("peft.dim"));
      read_.set_default("lora_targets", kAllLinear, by_default("peft.target_modules"));
      adapters("peft.dim", "peft.target_modules", "all-linear");
      if (read_.flag("peft.match_all_linear", false))
        read_.set("lora_targets", kAllLinear, "peft.match_all_linear");
      if (read_.flag("quantization.load_in_4bit", false))
        read_.set("quantize",
                  read_.flag("quantization.bnb_4bit_use_double_quant", true) ? "nf4-dq" : "nf4",
                  "quantization.load_in_4bit");
      if (read_.flag("quantization.load_in_8bit", false))
        read_.set("quantize", "int8", "quantization.load_in_8bit");
    }
    if (read_.text("model.torch_dtype", "bf16") != "float32") all_in_16_bit("model.torch_dtype");
    framework("automodel");
  }
  void read_automodel_manager() {
    constexpr const char* kManager = "distributed._target_";
    const std::string manager = read_.text(kManager, read_.text("distributed.strategy", "fsdp2"));
    const std::string kind = base::lower(manager);
    if (base::contains(kind, "ddp"))
      read_.set("zero", "0", kManager);
    else if (base::contains(kind, "fsdp"))
      shard(kManager);
    else
      read_.refuse(kManager, "FSDP2Manager, MegatronFSDPManager, DDPManager");
    const int64_t copies = read_.integer("distributed.dp_replicate_size", 1).value_or(1);
    const std::string ranks = read_.text("distributed.dp_size", "none");
    if (const auto number = base::parse_integer(ranks)) {
      read_.set_count("data_parallel_size", *number, "distributed.dp_size");
      if (copies > 1 && *number % copies == 0)
        read_hybrid_shards(read_, *number / copies, "distributed.dp_size");
    } else if (copies > 1) {
      read_.refuse("distributed.dp_replicate_size", "1, or a dp_size beside it");
    }
  }

  void read_llama_recipes() {
    constexpr const char* kStrategy = "fsdp_config.sharding_strategy";
    const std::string strategy = read_.text(kStrategy, "full_shard");
    if (read_.flag("enable_fsdp", false)) {
      shard(read_.has(kStrategy) ? kStrategy : "enable_fsdp", base::last_part(strategy, '.'));
      reduces_every_micro_batch("llama-recipes' loop");
    }
    if (read_.text("batching_strategy", "packing") != "packing")
      read_.not_modelled("batching_strategy", kLengthsOfData);
    if (read_.flag("fsdp_config.pure_bf16", false) || read_.flag("pure_bf16", false))
      all_in_16_bit(read_.has("pure_bf16") ? "pure_bf16" : "fsdp_config.pure_bf16");
    if (read_.flag("use_peft", false)) {
      if (read_.text("peft_method", "lora") != "lora")
        read_.refuse("peft_method", "lora: other adapters are not modelled");
      read_.set_default("lora", "8", by_default("lora_config.r"));
      read_.set_default("lora_targets", kPeftTargets, by_default("lora_config.target_modules"));
      adapters("lora_config.r", "lora_config.target_modules", "q_proj,v_proj");
    }
    quantization("quantization");
    framework("transformers");
  }

  /// Its plugins say how a job is divided.
  void read_colossalai() {
    const std::string plugin = base::lower(read_.text("plugin", "gemini"));
    const bool three = plugin == "3d";
    // A batch of the hybrid plugin is a pipeline's, cut into micro batches.
    const int64_t batch = read_.integer("batch_size", 1).value_or(2);
    const int64_t micro = three ? read_.integer("microbatch_size", 1).value_or(1) : batch;
    if (batch % micro != 0) read_.refuse("batch_size", "a multiple of microbatch_size");
    const int64_t steps = read_.integer("accumulation_steps", 1).value_or(1);
    if (batch > spec::kMostRanks || steps > spec::kMostRanks)
      return read_.refuse("batch_size", "at most {}", spec::kMostRanks);
    read_.set_count("micro_batch_size", micro, "batch_size");
    read_.set_count("gradient_accumulation_steps", batch / micro * steps, "batch_size");
    if (three)
      read_hybrid_plugin();
    else if (plugin == "ddp")
      read_.set("zero", "0", "plugin");
    else if (plugin == "zero1" || plugin.starts_with("zero2"))
      read_low_level_zero(plugin);
    else if (plugin.starts_with("gemini") || plugin == "fsdp")
      shard("plugin");
    else
      read_.refuse("plugin", "3d, ddp, zero2, zero2_cpu, gemini, gemini_auto, fsdp");
    if (plugin.starts_with("gemini") || plugin == "fsdp")
      reduces_every_micro_batch("ColossalAI's plugins");
    if (plugin.ends_with("_cpu")) read_.set("optimizer_cpu_offload", "true", "plugin");
    if (plugin.starts_with("gemini"))
      read_.not_modelled("plugin",
                         "memory and time: Gemini gathers parameters in chunks, which may wait on "
                         "the host; predicted as FSDP on the GPU");
    length_is_open("max_length is not said");
    adapters("lora_rank", "lora_target_modules", "q_proj,v_proj");
    framework("transformers");
  }
  /// LowLevelZeroPlugin reduces in the type that is computed in; of its stage 2 every backward
  /// ends with the gradients' shards.
  void read_low_level_zero(const std::string& plugin) {
    read_.set("zero", plugin.substr(4, 1), "plugin");
    read_.set_default("grad_reduce_in_bf16", "true", "ColossalAI's LowLevelZeroPlugin");
    if (plugin.starts_with("zero2")) reduces_every_micro_batch("ColossalAI's LowLevelZeroPlugin");
  }
  void read_hybrid_plugin() {
    read_.copy_count("tp", "tensor_model_parallel_size");
    read_.copy_count("pp", "pipeline_model_parallel_size");
    const bool split = read_.text("sp_mode") == "split_gather";
    if (read_.integer("sp", 1).value_or(1) > 1 && !split)
      read_.copy_count("sp", "context_parallel_size");
    if (split && read_.flag("enable_sequence_parallelism", false))
      read_.set("sequence_parallel", "true", "enable_sequence_parallelism");
    const std::string_view stage = read_.has("zero_stage") ? "zero_stage" : "zero";
    read_.set_count("zero", read_.integer(stage, 0).value_or(0), stage);
  }

  std::string_view framework_;
  std::string command_;
  FlatReader read_;
};

}  // namespace

Result<Reading> read_fine_tuning(std::string_view framework, const spec::FlatYaml& words,
                                 const std::string& file, std::string_view command) {
  return FineTuningReader(framework, words, file, command).read();
}

Result<Reading> parse_fine_tuning(std::string_view framework, const std::string& text,
                                  const std::string& file, const spec::FlatYaml& overrides,
                                  std::string_view command) {
  ERGOMETER_ASSIGN(const spec::FlatYaml words,
                   spec::flatten_yaml(text, file, {{}, overrides, nullptr}));
  return read_fine_tuning(framework, words, file, command);
}

}  // namespace ergometer::intake
