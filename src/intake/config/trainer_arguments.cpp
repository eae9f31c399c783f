#include "intake/config/trainer_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "intake/config/accelerate.h"
#include "intake/reader/framework_options.h"
#include "intake/reader/shared_words.h"
#include "spec/settings/settings.h"

namespace ergometer::intake {
namespace {

/// Optimizers with Adam's two states in FP32.
constexpr std::array<std::string_view, 8> kAdam = {
    "adamw_torch",        "adamw_torch_fused",    "adamw_hf", "adamw_apex_fused", "adamw", "adam",
    "adamw_anyprecision", "adamw_torch_npu_fused"};

/// Words of TRL's configurations and scripts that no other front end of the Trainer has.
constexpr std::array kTrlWords = std::to_array<std::string_view>(
    {"packing", "max_prompt_length", "dataset_num_proc", "dataset_text_field", "dataset_kwargs",
     "packing_strategy", "padding_free", "eval_packing", "assistant_only_loss",
     "completion_only_loss", "model_init_kwargs", "dataset_mixture", "dataset_mixer"});

/// Words of Open-Instruct's file of arguments, which starts a loop of its own on accelerate.
constexpr std::array kOpenInstructWords =
    std::to_array<std::string_view>({"dataset_mixer_list", "reduce_loss", "use_8bit_optimizer"});

class TrainerReader {
 public:
  TrainerReader(const spec::FlatYaml& values, const std::string& file, TrainerKind kind)
      : values_(values), kind_(kind), read_(values_, file, "trainer") {}

  Result<Reading> read() {
    read_model();
    read_batches();
    read_precision();
    read_recomputation();
    read_parallelism();
    read_kernels();
    read_trainer_adapters(read_, kind_);
    ERGOMETER_TRY(read_trainer_sharding(read_, values_, compiles_));
    settle_weights();
    return read_.finish(kind_ == TrainerKind::kLlamaFactory
                            ? "a LLaMA-Factory configuration"
                            : "arguments of Hugging Face's Trainer");
  }

 private:
  void read_model() {
    const std::string_view key =
        read_.present({"model_name_or_path", "model_id", "model_name", "config_name"});
    if (!is_off(read_.text("config_overrides"))) return read_overridden(key);
    if (key.empty()) return;
    read_.set("model",
              spec::relocated_value(*spec::find_setting("model"), read_.text(key), read_.file()),
              key);
  }

  /// GPT-2 where sizes are not given, or a llama all of whose sizes are; of others the rest stands
  /// in the framework.
  void read_overridden(std::string_view named) {
    constexpr std::string_view kOverrides = "config_overrides";
    const std::string type = read_.text("model_type");
    nlohmann::json model = {{"model_type", "llama"}};
    if (type == "gpt2")
      model = {{"model_type", type}, {"n_embd", 768},       {"n_head", 12},
               {"n_layer", 12},      {"n_positions", 1024}, {"vocab_size", 50257}};
    for (const std::string& item : base::split(read_.text(kOverrides), ',')) {
      const size_t equals = item.find('=');
      if (equals == item.npos) continue;
      const std::string value = base::lower(item.substr(equals + 1));
      if (const auto number = base::parse_integer(value))
        model[item.substr(0, equals)] = *number;
      else if (value == "true" || value == "false")
        model[item.substr(0, equals)] = value == "true";
    }
    for (const char* size : {"hidden_size", "intermediate_size", "num_hidden_layers",
                             "num_attention_heads", "vocab_size"})
      if (!named.empty() || (type != "gpt2" && (type != "llama" || !model.contains(size))))
        return read_.refuse(kOverrides,
                            "sizes of a model_type gpt2, all sizes of a model_type llama; another "
                            "model is read from a config.json of its own");
    if (type == "llama" && !model.contains("num_key_value_heads"))
      model["num_key_value_heads"] = model["num_attention_heads"];
    read_.set("model", base::json_line(model), kOverrides);
  }

  void read_batches() {
    if (const auto key = read_.present({"per_device_train_batch_size", "per_gpu_train_batch_size"});
        !key.empty())
      read_.copy_count(key, "micro_batch_size");
    else if (values_.find("per_device_train_batch_size") == values_.end())
      read_.set_default("micro_batch_size", "8", "the Trainer's default");
    if (!read_.copy_count("gradient_accumulation_steps", "gradient_accumulation_steps") &&
        values_.find("gradient_accumulation_steps") == values_.end())
      read_.set_default("gradient_accumulation_steps", "1", "the Trainer's default");
    const auto length = read_.present({"max_seq_length", "max_seq_len", "max_length", "cutoff_len",
                                       "block_size", "model_max_length"});
    if (!length.empty())
      read_.copy_count(length, "seq_length");
    else if (const auto it = values_.find("max_length");
             it != values_.end() && kind_ != TrainerKind::kLlamaFactory)
      read_.reading().unsaid["seq_length"] =
          "max_length: None cuts no text, and how long they are is not said; --seq says it";
    else if (kind_ == TrainerKind::kTrl)
      read_.set_default("seq_length", "1024", "TRL's default max_length");
    else if (kind_ == TrainerKind::kLlamaFactory)
      read_.set_default("seq_length", "2048", "LLaMA-Factory's default cutoff_len");
    if (length.empty() && kind_ == TrainerKind::kPlain)
      read_.reading().unsaid.try_emplace("seq_length",
                                         "how long sequences are is not said; --seq says it");
    read_packing();
  }

  /// How texts fill a sequence. TRL packs as well as they fit, and tokens attend within their own
  /// text; "wrapped" cuts all texts behind each other instead, as LLaMA-Factory does unless it
  /// packs neatly. Axolotl's kernels are told where texts begin.
  void read_packing() {
    const std::string strategy = base::lower(read_.text("packing_strategy"));
    const bool pads = !read_.flag("padding_free", false);
    bool packs = false;
    const bool factory = kind_ == TrainerKind::kLlamaFactory,
               cuts = factory || strategy == "wrapped";
    // LLaMA-Factory packs whole documents unless it is told not to.
    const bool by_default = factory && base::lower(read_.text("stage")) == "pt";
    for (const char* key : {"neat_packing", "sample_packing", "packing"}) {
      if (!read_.flag(key, key == std::string_view("packing") && by_default)) continue;
      packs = true;
      if (key != std::string_view("packing") || !cuts) read_.not_modelled(key, kPackedDocuments);
    }
    if (packs) return;
    if (!pads) return read_.not_modelled("padding_free", kNoPadding);
    const auto* length = read_.said().find("seq_length");
    if (length == nullptr) length = read_.reading().defaults.find("seq_length");
    if (length != nullptr) read_.note(unpacked_note(length->text));
  }

  void read_precision() {
    const auto bf16 = read_.said_flag("bf16"), fp16 = read_.said_flag("fp16");
    const auto tf32 = read_.said_flag("tf32");
    const std::string_view key = read_.present({"torch_dtype", "dtype"});
    const std::string type = key.empty() ? "" : base::lower(read_.text(key));
    const bool open = (values_.find("bf16") != values_.end() && !bf16) ||
                      (values_.find("fp16") != values_.end() && !fp16 && !bf16);
    if (read_.flag("fp8", false)) return read_.set("precision", "fp8", "fp8");
    if (bf16.value_or(false)) return read_.set("precision", "bf16", "bf16");
    if (fp16.value_or(false)) return read_.set("precision", "fp16", "fp16");
    if (read_.flag("pure_bf16", false) || type.ends_with("float16") || type == "half") {
      const std::string_view because = key.empty() ? "pure_bf16" : key;
      // Without bf16 = true the only copy of the weights is in 16 bit.
      const bool half = !type.empty() && !type.ends_with("bfloat16");
      read_.set("precision", half ? "fp16" : "bf16", because);
      return read_.set("master_weights", "false", because);
    }
    if (open || read_quantized_products()) return;
    const bool new_trl = kind_ == TrainerKind::kTrl && !bf16;
    // infer_optim_dtype() of its patcher; what is trained in full it makes FP32.
    const bool of_model =
        kind_ == TrainerKind::kLlamaFactory && base::lower(read_.text("finetuning_type")) != "full";
    read_.set_default("precision", new_trl || of_model ? "bf16" : "fp32",
                      new_trl    ? "TRL's default"
                      : of_model ? "in BF16, as LLaMA-Factory loads the frozen model"
                                 : "without bf16 or fp16");
    if (tf32) read_.set_flag("tf32", *tf32, "tf32");
  }

  /// bitsandbytes multiplies in a format of its own where nothing else is in 16 bit.
  bool read_quantized_products() {
    constexpr const char* kFormat = "bnb_4bit_compute_dtype";
    const std::string word = base::lower(read_.text(kFormat));
    const bool brings_own = kind_ != TrainerKind::kPlain && !read_.said_flag("bf16");
    if (brings_own || is_off(read_.text("load_in_4bit")) || !word.ends_with("16")) return false;
    read_.set("precision", base::contains(word, "bf") ? "bf16" : "fp16", kFormat);
    read_.not_modelled(kFormat,
                       "time and memory: what lies between the products with quantized weights is "
                       "in FP32; predicted in 16 bit");
    return true;
  }

  /// A model that is loaded in 16 bit is trained so: autocast keeps no other copy. DeepSpeed does,
  /// and FSDP under mixed precision; adapters are in FP32, and LLaMA-Factory makes its weights so.
  void settle_weights() {
    const std::string_view key = read_.present({"torch_dtype", "dtype"});
    const auto* zero = read_.said().find("zero");
    const bool narrow = !key.empty() && base::lower(read_.text(key)).ends_with("bfloat16");
    const bool mixed = read_.said_flag("bf16").value_or(false) &&
                       (zero == nullptr || zero->text == "0") && is_off(read_.text("deepspeed"));
    const bool adapts =
        read_.said().find("lora") != nullptr || read_.reading().open.contains("lora");
    if (narrow && mixed && !adapts && kind_ != TrainerKind::kLlamaFactory)
      read_.set_fallback("master_weights", "false",
                         fmt::format("{}: the model is loaded in BF16", key));
  }

  void read_recomputation() {
    const std::string word = base::lower(read_.text("gradient_checkpointing"));
    if (word.starts_with("offload") || word == "unsloth") {
      read_.set("recompute_granularity", "full", "gradient_checkpointing");
      return read_.not_modelled("gradient_checkpointing",
                                "memory and time: what is kept of a layer waits on the host or a "
                                "drive; predicted on the GPU");
    }
    const auto said = read_.said_flag("gradient_checkpointing");
    const auto off = read_.said_flag("disable_gradient_checkpointing");
    if (said) return set_recomputation(read_, *said, "gradient_checkpointing");
    if (off)
      return read_.set("recompute_granularity", *off ? "none" : "full",
                       "disable_gradient_checkpointing");
    const bool open_instruct = std::ranges::any_of(
        kOpenInstructWords, [&](std::string_view name) { return values_.contains(name); });
    const bool on = kind_ != TrainerKind::kPlain && !open_instruct;
    read_.set_default("recompute_granularity", on ? "full" : "none",
                      open_instruct                         ? "Open-Instruct's default"
                      : kind_ == TrainerKind::kTrl          ? "TRL's default"
                      : kind_ == TrainerKind::kLlamaFactory ? "LLaMA-Factory's default"
                                                            : "the Trainer's default");
  }

  void read_parallelism() {
    read_parallelism_config(read_);
    // "auto" is what it says, not another file's value.
    constexpr const char* kPlan = "tp_plan";
    read_.find(kPlan);
    if (const auto it = values_.find(kPlan);
        it != values_.end() && !is_off(it->second.text) && !values_.contains("tp_size"))
      read_.reading().open["tensor_model_parallel_size"] = fmt::format(
          "{}: {} splits tensors over all ranks; give --tp N", read_.origin(kPlan).text, kPlan);
    for (const char* key : {"sequence_parallel_size", "context_parallel_size"})
      if (read_.copy_count(key, "context_parallel_size") &&
          key == std::string_view("sequence_parallel_size"))
        read_.set("cp_comm_type", "a2a", key);
    for (const char* key : {"tensor_parallel_size", "tp_size"})
      read_.copy_count(key, "tensor_model_parallel_size");
    const auto shards = read_.integer("dp_shard_size", 1),
               replicas = read_.integer("dp_replicate_size", 1);
    if (shards)
      set_ranks(read_, "data_parallel_size", *shards, replicas.value_or(1), "dp_shard_size");
    if (shards && *shards > 1) read_sharding_strategy(read_, "full_shard", "dp_shard_size");
    if (shards && *shards > 1 && replicas.value_or(1) > 1)
      read_hybrid_shards(read_, *shards, "dp_shard_size");
  }

  /// The kernels by a name of transformers', LLaMA-Factory's, or a kernel's on the hub
  /// ("kernels-community/flash-attn2", perhaps "@revision:function" behind it); empty: others.
  static std::string_view attention_of(std::string_view word) {
    constexpr std::string_view kHub = "kernels-community/";
    const std::string_view kernel =
        word.starts_with(kHub) ? word.substr(kHub.size(), word.find_first_of("@:") - kHub.size())
                               : "";
    if (word == "disabled") return "unfused";
    if (word == "fa2" || kernel == "flash-attn" || kernel == "flash-attn2") return "fa2";
    if (word == "fa3" || kernel == "flash-attn3" || kernel == "vllm-flash-attn3") return "fa3";
    return backend_of_attention(word);
  }

  void read_kernels() {
    // LLaMA-Factory's word, ms-swift's and Axolotl's.
    for (const char* key : {"stage", "rlhf_type", "rl"}) {
      const std::string way = base::lower(read_.text(key));
      if (way == "ppo" || way == "grpo" || way == "gdpo")
        read_.fail({base::ErrorKind::kInput, fmt::format("{}: {}: {} is {}", read_.origin(key).text,
                                                         key, way, kIsReinforcement)});
      if (is_preference_training(way))
        read_.reading().leftovers.push_back(
            preference_training(fmt::format("{} {}", key, way), read_.origin(key).text));
    }
    // Words of trainers on a model's own answers, in files that do not name the way.
    const auto own = read_.present(
        {"num_generations", "num_ppo_epochs", "kl_coef", "reward_funcs", "reward_model_path"});
    if (!own.empty() && read_.present({"stage", "rlhf_type", "rl"}).empty())
      read_.fail({base::ErrorKind::kInput,
                  fmt::format("{}: {}: is of {}", read_.origin(own).text, own, kIsReinforcement)});
    // A word of the trainers of answers alone.
    if (constexpr const char* kPrompt = "max_prompt_length"; read_.has(kPrompt))
      read_.reading().leftovers.push_back(preference_training(kPrompt, read_.origin(kPrompt).text));
    const auto key = read_.present({"attn_implementation", "flash_attn", "_attn_implementation"});
    const std::string word = key.empty() ? "" : base::lower(read_.text(key));
    const std::string_view backend = attention_of(word);
    if (!backend.empty()) read_.set("attention_backend", std::string(backend), key);
    for (const char* older : {"use_flash_attn", "use_flash_attention", "use_flash_attention_2"})
      if (read_.flag(older, false) && backend.empty()) read_.set("attention_backend", "fa2", older);
    if (backend.empty() && base::contains(word, "/"))
      read_.not_modelled(key, "time: attention by a kernel of a hub; predicted as the default");
    else if (!word.empty() && backend.empty() && word != "auto")
      read_.refuse(key, "eager, sdpa, flash_attention_2, flash_attention_3");
    compiles_ = read_.flag("torch_compile", false);
    const auto liger = read_.present({"use_liger_kernel", "use_liger", "enable_liger_kernel"});
    if (!liger.empty() && read_.flag(liger, false)) {
      read_.set("linear_cross_entropy_fusion", "true", liger);
      read_.set("apply_rope_fusion", "true", liger);
      read_.not_modelled(liger,
                         "time: Liger's fused norms and gated products; rotary positions and "
                         "the loss are predicted as fused, these are not");
    }
    const std::string optimizer = base::lower(read_.text("optim"));
    constexpr const char* kEight = "use_8bit_optimizer";
    if (read_.flag(kEight, false)) {
      read_.set("optimizer_moments", "8-bit", kEight);
      read_.note("{} is taken to hold; Open-Instruct's own loop may heed it beside use_qlora alone",
                 kEight);
    }
    if (!optimizer.empty() && !read_adam_in_bits(optimizer) && !base::contains(kAdam, optimizer))
      read_.not_modelled(
          "optim", "memory and time: another optimizer's states; predicted as Adam's in FP32");
  }

  /// Optimizers whose states are Adam's, in bitsandbytes' or torchao's 8 bit or in 32.
  bool read_adam_in_bits(const std::string& optimizer) {
    const bool eight = base::contains(optimizer, "8bit");
    if (!base::contains(optimizer, "adam") || (!eight && !base::contains(optimizer, "32bit")))
      return false;
    if (eight) read_.set("optimizer_moments", "8-bit", "optim");
    if (base::contains(optimizer, "paged"))
      read_.note("optim: pages of the optimizer's states are taken to stay on the GPU");
    return true;
  }

  spec::FlatYaml values_;
  TrainerKind kind_;
  FlatReader read_;
  bool compiles_ = false;
};

/// LLaMA-Factory and TRL by words that they alone have; a template is a word of other programs as
/// well.
TrainerKind kind_of(const spec::FlatYaml& values, bool is_file) {
  const bool factory = values.contains("finetuning_type") || values.contains("cutoff_len") ||
                       (is_file && values.contains("template"));
  const bool trl = is_file && std::ranges::any_of(kTrlWords, [&](std::string_view word) {
                     return values.contains(word);
                   });
  return factory ? TrainerKind::kLlamaFactory : trl ? TrainerKind::kTrl : TrainerKind::kPlain;
}

}  // namespace

TrainerKind kind_of_trainer_file(const spec::FlatYaml& values) { return kind_of(values, true); }

Result<Reading> read_trainer(const spec::FlatYaml& values, const std::string& file,
                             TrainerKind kind) {
  return TrainerReader(values, file, kind).read();
}

Result<Reading> read_trainer_arguments(const std::vector<TrainerArgument>& arguments,
                                       const std::string& file, TrainerKind kind,
                                       spec::FlatYaml values) {
  for (const TrainerArgument& argument : arguments)
    values[option_name(argument.name)] = {argument.value.empty() ? "true" : argument.value,
                                          argument.line};
  return read_trainer(values, file, kind == TrainerKind::kPlain ? kind_of(values, false) : kind);
}

Result<spec::FlatYaml> trainer_values(const std::string& text, const std::string& file) {
  constexpr std::string_view kLength = "max_length";
  spec::FlatYaml nulls;
  const spec::YamlContext context = {{}, {}, nullptr, &nulls};
  ERGOMETER_ASSIGN(spec::FlatYaml values, flatten_either(text, file, context));
  // No text is cut then: another length than where nothing is said.
  if (const auto it = nulls.find(kLength); it != nulls.end())
    values.try_emplace(it->first, spec::FlatValue{"None", it->second.line});
  return values;
}

Result<Reading> parse_trainer_file(const std::string& text, const std::string& file,
                                   const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, trainer_values(text, file));
  for (const auto& [key, value] : overrides) values[key] = value;
  return read_trainer(values, file, kind_of(values, true));
}

std::string unpacked_note(std::string_view length) {
  return fmt::format(
      "every sequence is taken to be {} tokens long: without packing that is the longest, and "
      "--seq says another length",
      length);
}

Leftover preference_training(std::string_view name, const std::string& where) {
  return {Leftover::Kind::kNotModelled, std::string(name), where,
          "time and memory: pairs of answers, and models beside the trained one; predicted as "
          "fine-tuning on as many texts"};
}

bool is_preference_training(std::string_view word) {
  for (const char* kind : {"dpo", "ipo", "kto", "orpo", "ppo", "grpo", "cpo", "simpo", "rm"})
    if (base::lower(word) == kind) return true;
  return false;
}

}  // namespace ergometer::intake
