#include "intake/config/trainer_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "intake/config/accelerate.h"
#include "intake/config/adapters.h"
#include "intake/config/deepspeed.h"
#include "intake/reader/framework_options.h"
#include "spec/catalog/read.h"
#include "spec/recipe/recipe.h"

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
    read_adapters();
    ERGOMETER_TRY(read_sharding());
    settle_weights();
    return read_.finish(kind_ == TrainerKind::kLlamaFactory
                            ? "a LLaMA-Factory configuration"
                            : "arguments of Hugging Face's Trainer");
  }

 private:
  /// The first of several spellings that is there; empty if none is.
  std::string_view present(std::initializer_list<std::string_view> keys) {
    std::string_view found;
    for (const std::string_view key : keys)
      if (read_.has(key) && found.empty()) found = key;
    return found;
  }

  void read_model() {
    const std::string_view key =
        present({"model_name_or_path", "model_id", "model_name", "config_name"});
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
    if (const auto key = present({"per_device_train_batch_size", "per_gpu_train_batch_size"});
        !key.empty())
      read_.copy_count(key, "micro_batch_size");
    else if (values_.find("per_device_train_batch_size") == values_.end())
      read_.set_default("micro_batch_size", "8", "the Trainer's default");
    if (!read_.copy_count("gradient_accumulation_steps", "gradient_accumulation_steps") &&
        values_.find("gradient_accumulation_steps") == values_.end())
      read_.set_default("gradient_accumulation_steps", "1", "the Trainer's default");
    const auto length = present({"max_seq_length", "max_seq_len", "max_length", "cutoff_len",
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
      if (key != std::string_view("packing") || !cuts)
        read_.not_modelled(key, std::string(kPackedDocuments));
    }
    if (packs) return;
    if (!pads) return read_.not_modelled("padding_free", std::string(kNoPadding));
    const auto* length = read_.said().find("seq_length");
    if (length == nullptr) length = read_.reading().defaults.find("seq_length");
    if (length != nullptr) read_.note(unpacked_note(length->text));
  }

  void read_precision() {
    const auto bf16 = read_.said_flag("bf16"), fp16 = read_.said_flag("fp16");
    const auto tf32 = read_.said_flag("tf32");
    const std::string_view key = present({"torch_dtype", "dtype"});
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
    if (tf32) read_.set("tf32", *tf32 ? "true" : "false", "tf32");
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
    const std::string_view key = present({"torch_dtype", "dtype"});
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
    if (said)
      return read_.set("recompute_granularity", *said ? "full" : "none", "gradient_checkpointing");
    if (off)
      return read_.set("recompute_granularity", *off ? "none" : "full",
                       "disable_gradient_checkpointing");
    const bool on = kind_ != TrainerKind::kPlain;
    read_.set_default("recompute_granularity", on ? "full" : "none",
                      kind_ == TrainerKind::kTrl            ? "TRL's default"
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
      read_.set("data_parallel_size",
                std::to_string(std::min(*shards, spec::kMostRanks) *
                               std::min(replicas.value_or(1), spec::kMostRanks)),
                "dp_shard_size");
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
    if (word == "eager" || word == "disabled") return "unfused";
    if (word == "sdpa") return "fused";
    if (word == "flash_attention_2" || word == "fa2" || kernel == "flash-attn" ||
        kernel == "flash-attn2")
      return "fa2";
    if (word == "flash_attention_3" || word == "fa3" || kernel == "flash-attn3" ||
        kernel == "vllm-flash-attn3")
      return "fa3";
    return "";
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
    // A word of the trainers of answers alone.
    if (constexpr const char* kPrompt = "max_prompt_length"; read_.has(kPrompt))
      read_.reading().leftovers.push_back(preference_training(kPrompt, read_.origin(kPrompt).text));
    const auto key = present({"attn_implementation", "flash_attn", "_attn_implementation"});
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
    const auto liger = present({"use_liger_kernel", "use_liger", "enable_liger_kernel"});
    if (!liger.empty() && read_.flag(liger, false)) {
      read_.set("linear_cross_entropy_fusion", "true", liger);
      read_.set("apply_rope_fusion", "true", liger);
      read_.not_modelled(liger,
                         "time: Liger's fused norms and gated products; rotary positions and "
                         "the loss are predicted as fused, these are not");
    }
    const std::string optimizer = base::lower(read_.text("optim"));
    if (!optimizer.empty() && !read_adam_in_bits(optimizer) && !base::contains(kAdam, optimizer))
      read_.not_modelled(
          "optim", "memory and time: another optimizer's states; predicted as Adam's in FP32");
  }

  /// DeepSpeed-Chat names modules by a part of their path, which all linear layers have.
  void read_adapters_of_chat() {
    const auto rank = read_.integer("lora_dim", 0);
    const bool alone = read_.flag("only_optimize_lora", false);
    read_.find("lora_module_name");
    if (rank.value_or(0) == 0) return;
    read_.set("lora", std::to_string(*rank), "lora_dim");
    read_.set("lora_targets", "qkv,proj,fc1,fc2", "lora_module_name");
    if (!alone)
      read_.not_modelled("lora_dim",
                         "memory and time: the model is trained beside its adapters; predicted as "
                         "frozen");
  }

  void read_adapters() {
    read_adapters_of_chat();
    const auto rank = present({"lora_r", "lora_rank", "r"});
    const auto targets = present({"lora_target_modules", "lora_target"});
    const std::string tuning = base::lower(read_.text("finetuning_type"));
    const auto used = read_.said_flag("use_peft"), older = read_.said_flag("use_lora");
    if (tuning == "freeze")
      read_.refuse("finetuning_type", "lora, full: frozen layers are not modelled");
    const auto enabled = read_.said_flag("lora_enable");
    bool adapts = !rank.empty() && tuning != "full" && used.value_or(true) &&
                  older.value_or(true) && enabled.value_or(true);
    if (rank.empty() && kind_ != TrainerKind::kLlamaFactory)
      adapts = read_unranked(used, older, enabled);
    if (kind_ == TrainerKind::kLlamaFactory && tuning != "full") {
      adapts = true;
      if (rank.empty())
        read_.reading().settings.set("lora", "8", {read_.file() + ", LLaMA-Factory's default", ""});
      if (targets.empty())
        read_.reading().settings.set("lora_targets", "qkv,proj,fc1,fc2",
                                     {read_.file() + ", LLaMA-Factory's default", ""});
    }
    const bool by_factory = kind_ == TrainerKind::kLlamaFactory && targets.empty();
    if (adapts && by_factory) read_.copy_count(rank, "lora");
    if (adapts && !rank.empty() && !by_factory)
      read_lora(read_, rank, targets.empty() ? "lora_target_modules" : targets);
    if (adapts && rank.empty() && !targets.empty()) {
      std::string unknown;
      const auto words = spec::lora_targets(read_.text(targets), unknown);
      if (!words) return read_.refuse(targets, "linear layers of attention and feed-forward");
      read_.set("lora_targets", words->empty() ? "qkv,proj,fc1,fc2" : *words, targets);
    }
    if (read_.find("requires_grad") != nullptr && !adapts)
      read_.not_modelled("requires_grad", "memory and time: parts of the model are not trained");
    if (adapts && !rank.empty() && !used && !older && !enabled && tuning.empty())
      read_.note("{} is taken to mean that adapters are trained", rank);
    read_quantization(adapts);
  }

  /// LLaMA-Factory quantizes scales too unless it is told not to; Trainer's scripts where they say.
  void read_quantization(bool adapts) {
    const bool factory = kind_ == TrainerKind::kLlamaFactory;
    const auto twice =
        present({"bnb_4bit_use_double_quant", "use_bnb_nested_quant", "double_quantization"});
    const bool nested = twice.empty() ? factory : read_.flag(twice, factory);
    for (const char* key : {"load_in_4bit", "load_in_8bit", "quantization_bit"}) {
      const std::string value = read_.text(key);
      if (is_off(value)) continue;
      const bool four = key == std::string_view("load_in_4bit") || value == "4";
      if (!adapts)
        read_.refuse(key, "false without adapters: quantized weights are not trained");
      else
        read_.set("quantize", !four ? "int8" : nested ? "nf4-dq" : "nf4", key);
    }
    // Unsloth's uploads, "...-bnb-4bit", say it themselves.
    const auto model = present({"model_name_or_path", "model_id", "model_name"});
    const bool said = !present({"load_in_4bit", "load_in_8bit", "quantization_bit"}).empty();
    if (said || model.empty() || !base::contains(base::lower(read_.text(model)), "bnb-4bit"))
      return;
    if (adapts)
      read_.set("quantize", "nf4-dq", model);
    else
      read_.refuse(model, "a model in 16 bit without adapters: quantized weights are not trained");
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

  /// A switch alone: TRL's --use_peft has a rank by default; every script's own switch has another.
  bool read_unranked(std::optional<bool> trl, std::optional<bool> older,
                     std::optional<bool> enabled) {
    if (trl.value_or(false)) {
      read_.set("lora", "16", "use_peft");
      read_.set_default("lora_targets", kPeftTargets, "PEFT's default: queries and values");
      read_.note("use_peft says no rank: 16, TRL's default, is taken, and --lora N says another");
      return true;
    }
    const std::string_view own = older.value_or(false)     ? "use_lora"
                                 : enabled.value_or(false) ? "lora_enable"
                                                           : "";
    if (own.empty()) return false;
    read_.set_default("lora_targets", kPeftTargets, "PEFT's default: queries and values");
    read_.reading().open["lora"] = fmt::format(
        "{}: {} trains adapters, and of which rank stands in the program, which is not read; give "
        "--lora N (and --lora-targets, if not queries, keys and values)",
        read_.origin(own).text, own);
    return true;
  }

  Result<void> read_sharding() {
    read_.set_fallback("zero", "0", "neither FSDP nor DeepSpeed");
    read_.set_fallback("overlap_grad_reduce", "true", "PyTorch DDP's way");
    spec::set_framework(read_.reading().fallbacks,
                        compiles_ ? "transformers-compiled" : "transformers", read_.file());
    ERGOMETER_TRY(read_mapping("fsdp_config"));
    ERGOMETER_TRY(read_accelerator());
    const std::string fsdp = base::lower(read_.text("fsdp"));
    if (!is_off(fsdp)) read_fsdp(fsdp);
    const std::string deepspeed = read_.text("deepspeed");
    if (!is_off(deepspeed)) {
      ERGOMETER_ASSIGN(Reading other, read_deepspeed_beside(deepspeed, read_.file(),
                                                            read_.origin("deepspeed").text));
      if (const std::string file = file_beside(deepspeed, read_.file()); !file.empty())
        read_.note("its DeepSpeed configuration is {}", file);
      ERGOMETER_TRY(check_batches_agree(read_.said(), other.settings));
      add_reading(read_.reading(), std::move(other));
    }
    return read_inline_deepspeed();
  }

  /// `deepspeed:` with the configuration itself below it.
  Result<void> read_inline_deepspeed() {
    constexpr std::string_view kSection = "deepspeed.";
    spec::FlatYaml inner;
    for (const auto& [key, value] : values_)
      if (key.starts_with(kSection)) {
        read_.find(key);
        inner[key.substr(kSection.size())] = value;
      }
    if (inner.empty()) return {};
    ERGOMETER_ASSIGN(Reading other, read_deepspeed(inner, read_.file()));
    ERGOMETER_TRY(check_batches_agree(read_.said(), other.settings));
    add_reading(read_.reading(), std::move(other));
    return {};
  }

  /// A mapping may be written out in JSON, or be the name of a file that holds it.
  Result<void> read_mapping(std::string_view name) {
    const std::string said = read_.text(name);
    if (is_off(said)) return {};
    const std::string where = read_.origin(name).text;
    const bool is_here = said.starts_with('{');
    const std::string file = is_here ? read_.file() : file_beside(said, read_.file());
    if (file.empty())
      return input_error(
          "{}: {}: {} is neither beside {} nor here; without it the job would "
          "be another one",
          where, name, said, read_.file());
    ERGOMETER_ASSIGN(const std::string text, is_here
                                                 ? Result<std::string>(said)
                                                 : base::read_file(file, spec::kLargestWritten));
    ERGOMETER_ASSIGN(const spec::FlatYaml inner, flatten_json(text, file));
    for (const auto& [key, value] : inner)
      values_[fmt::format("{}.{}", name, key)] = {
          value.text, value.line, is_here ? where : fmt::format("{}:{}", file, value.line)};
    return {};
  }

  /// The Trainer takes them over where it is told of no accumulation itself, and refuses both.
  void read_plugin_steps() {
    constexpr std::string_view kSteps = "accelerator_config.gradient_accumulation_kwargs.num_steps";
    if (!read_.has(kSteps)) return;
    const auto* said = read_.said().find("gradient_accumulation_steps");
    if (said != nullptr && said->text != "1")
      return read_.refuse(kSteps, "nothing, for gradient_accumulation_steps says it");
    read_.copy_count(kSteps, "gradient_accumulation_steps");
  }

  /// What accelerate is told of batches.
  Result<void> read_accelerator() {
    ERGOMETER_TRY(read_mapping("accelerator_config"));
    constexpr std::string_view kSplits = "accelerator_config.split_batches";
    if (read_.flag(kSplits, false))
      read_.refuse(kSplits,
                   "false: a loader's batch would be that of all GPUs together; give --mbs and a "
                   "file without it");
    read_plugin_steps();
    constexpr std::string_view kEach =
        "accelerator_config.gradient_accumulation_kwargs.sync_each_batch";
    const bool by_plugin = read_.flag(kSyncsEach, false);
    if (!by_plugin && !read_.flag(kEach, false)) return {};
    const std::string_view key = by_plugin ? std::string_view(kSyncsEach) : kEach;
    read_.set("reduce_every_micro_batch", "true", key);
    if (is_off(read_.text("fsdp")))
      read_.not_modelled(
          key,
          "time: where gradients are not sharded they are reduced after every micro batch "
          "as well; predicted once a step");
    return {};
  }

  void read_fsdp(const std::string& words) {
    std::string spaced = words;
    std::ranges::replace(spaced, ',', ' ');
    bool known = false;
    for (const std::string& word : base::split(spaced, ' ')) {
      if (word.empty() || word == "auto_wrap") continue;
      if (word == "offload") {
        read_.set("optimizer_cpu_offload", "true", "fsdp");
        read_.not_modelled("fsdp",
                           "memory and time: parameters and gradients are on the host as "
                           "well; predicted on the GPU");
        continue;
      }
      if (word == "true") {
        known = read_sharding_strategy(read_, "full_shard", "fsdp");
        continue;
      }
      if (!read_sharding_strategy(read_, word, "fsdp"))
        return read_.refuse(
            "fsdp", "full_shard, shard_grad_op, hybrid_shard, no_shard, offload, auto_wrap");
      known = true;
    }
    if (!known) read_sharding_strategy(read_, "full_shard", "fsdp");
    if (read_.flag(kReducesEach, false))
      read_.set_default("reduce_every_micro_batch", "true", "a loop of its own without no_sync");
    constexpr std::string_view kStrategy = "fsdp_config.fsdp_sharding_strategy";
    if (const std::string word = base::lower(read_.text(kStrategy));
        !word.empty() && !read_sharding_strategy(read_, word, kStrategy))
      return read_.refuse(kStrategy, "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, NO_SHARD");
    read_fsdp_config();
    settle_shard_size(read_);
  }

  void read_fsdp_config() {
    for (const std::string_view prefix : {"fsdp_config.", "fsdp_config.fsdp_"}) {
      const auto key = [&](std::string_view name) {
        return std::string(prefix) + std::string(name);
      };
      read_backward_prefetch(read_, key("backward_prefetch"));
      if (read_.flag(key("activation_checkpointing"), false))
        read_.set("recompute_granularity", "full", key("activation_checkpointing"));
      if (read_.flag(key("offload_params"), false)) {
        read_.set("optimizer_cpu_offload", "true", key("offload_params"));
        read_.not_modelled(key("offload_params"),
                           "memory and time: parameters and gradients are on the host as "
                           "well; predicted on the GPU");
      }
      if (read_.has(key("reshard_after_forward")) &&
          !read_.flag(key("reshard_after_forward"), true))
        read_sharding_strategy(read_, "shard_grad_op", key("reshard_after_forward"));
    }
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

/// Nulls are left out of flat values, as if nothing were said; of TRL's max_length it says that no
/// text is cut, as Python's None does.
void add_null_length(const std::string& text, spec::FlatYaml& values) {
  constexpr std::string_view kKey = "max_length:";
  int line = 0;
  for (const std::string& whole : base::split(text, '\n')) {
    ++line;
    if (!whole.starts_with(kKey)) continue;
    const std::string_view rest = std::string_view(whole).substr(kKey.size());
    const std::string word = base::lower(base::trimmed(rest.substr(0, rest.find('#'))));
    if (word.empty() || word == "null" || word == "~")
      values.try_emplace("max_length", spec::FlatValue{"None", line});
  }
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

Result<Reading> parse_trainer_file(const std::string& text, const std::string& file,
                                   const spec::FlatYaml& overrides) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && text[first] == '{';
  ERGOMETER_ASSIGN(spec::FlatYaml values,
                   json ? flatten_json(text, file) : spec::flatten_yaml(text, file));
  add_null_length(text, values);
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
