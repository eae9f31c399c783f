#include "intake/research/xtuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/deepspeed.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/python_objects.h"
#include "intake/reader/python_text.h"
#include "intake/reader/shared_words.h"
#include "spec/settings/lora_targets.h"

namespace ergometer::intake {
namespace {

/// Names that XTuner or its Runner takes, and those that stand for a data set's where it has none.
constexpr std::array kXtunerTakes = std::to_array<std::string_view>(
    {"_base_",        "read_base",     "model",          "train_dataloader",
     "optim_wrapper", "train_cfg",     "strategy",       "sequence_parallel_size",
     "max_length",    "custom_hooks",  "default_hooks",  "param_scheduler",
     "env_cfg",       "log_processor", "randomness",     "pack_to_max_length",
     "load_from",     "resume",        "val_dataloader", "test_dataloader"});

class XtunerReader {
 public:
  XtunerReader(const spec::FlatYaml& values, const std::string& file)
      : read_(values, file, "xtuner") {}

  Result<Reading> read() {
    for (const char* base : {"_base_", "read_base"})
      if (read_.has(base))
        read_.refuse(base, "none: write the values of the file that it builds on here");
    read_model();
    read_batch();
    read_sharding();
    read_adapters();
    return read_.finish("a configuration of XTuner");
  }

 private:
  void read_model() {
    constexpr const char* kName = "model.llm.pretrained_model_name_or_path";
    const std::string kind = read_.text("model.type", "SupervisedFinetune");
    if (!kind.ends_with("SupervisedFinetune"))
      return read_.refuse("model.type", "SupervisedFinetune: others are not read");
    if (!read_.copy(kName, "model")) return read_.refuse(kName, "a model's name");
    const std::string attention = read_.text("model.llm.attn_implementation", "flash_attention_2");
    read_.set("attention_backend",
              attention == "eager"  ? "unfused"
              : attention == "sdpa" ? "fused"
                                    : "fa2",
              "model.llm.attn_implementation");
    const bool again = read_.flag("model.use_activation_checkpointing", true);
    set_recomputation(read_, again, "model.use_activation_checkpointing");
  }

  /// What its Runner takes, which the names at the top are handed to.
  void read_batch() {
    constexpr const char *kBatch = "train_dataloader.batch_size",
                         *kPasses = "optim_wrapper.accumulative_counts",
                         *kLength = "train_dataloader.dataset.max_length";
    const std::string length = read_.has(kLength) ? kLength : "max_length";
    if (!read_.copy_count(kBatch, "micro_batch_size")) read_.refuse(kBatch, "a whole number");
    if (!read_.copy_count(length, "seq_length")) read_.refuse(length, "a whole number");
    read_.copy_count_or(kPasses, "gradient_accumulation_steps", 1);
    const std::string packs = read_.has("train_dataloader.dataset.pack_to_max_length")
                                  ? "train_dataloader.dataset.pack_to_max_length"
                                  : "pack_to_max_length";
    if (!read_.flag(packs, false)) read_.not_modelled(packs, kLengthsOfData);
    for (const char* other : {"max_length", "pack_to_max_length"}) read_.find(other);
    if (read_.copy_count("sequence_parallel_size", "context_parallel_size", 2))
      read_.set("cp_comm_type", "a2a", "sequence_parallel_size");
    const std::string optimizer = base::lower(read_.text("optim_wrapper.optimizer.type", "AdamW"));
    if (base::contains(optimizer, "8bit"))
      read_.set("optimizer_moments", "8-bit", "optim_wrapper.optimizer.type");
    else if (!base::contains(optimizer, "adam"))
      read_.not_modelled("optim_wrapper.optimizer.type", kOtherOptimizer);
    const std::string type = read_.text("optim_wrapper.dtype", "float16");
    if (type != "float16" && type != "bfloat16")
      return read_.refuse("optim_wrapper.dtype", "float16, bfloat16");
    read_.set("precision", type == "float16" ? "fp16" : "bf16", "optim_wrapper.dtype");
  }

  /// `--deepspeed deepspeed_zero2`, one of its own files, or another beside it.
  void read_sharding() {
    constexpr const char* kWord = "deepspeed";
    constexpr std::string_view kOwn = "deepspeed_zero";
    std::string name = read_.text(kWord, read_.text("strategy.config"));
    if (name.empty()) {
      if (read_.has_section("strategy"))
        return read_.refuse("strategy.type", "none: --deepspeed says how states are sharded");
      set_replicated(read_, kWord);
      return read_.set_framework("transformers");
    }
    if (!name.starts_with(kOwn)) {
      Result<Reading> config = read_deepspeed_beside(name, read_.file(), read_.origin(kWord).text);
      if (!config) return read_.fail(config.error());
      for (const char* batch :
           {"micro_batch_size", "gradient_accumulation_steps", "global_batch_size"})
        config->settings.erase(batch);
      return add_reading(read_.reading(), *std::move(config));
    }
    name.erase(0, kOwn.size());
    const bool offloads = name.ends_with("_offload");
    const auto stage = base::parse_integer(name.substr(0, name.find('_')));
    if (!stage || *stage < 1 || *stage > 3)
      return read_.refuse(kWord,
                          "deepspeed_zero1, deepspeed_zero2, deepspeed_zero3, with _offload, "
                          "or a file");
    read_.set_count("zero", *stage, kWord);
    set_deepspeed_defaults(*stage, read_.file(), read_.reading());
    read_.set("overlap_grad_reduce", "true", kWord);
    if (*stage == 3) read_.set("overlap_param_gather", "true", kWord);
    if (offloads) read_.set("optimizer_cpu_offload", "true", kWord);
    if (offloads && *stage == 3) read_.not_modelled(kWord, kParametersWait);
    read_.set_framework("deepspeed");
  }

  void read_adapters() {
    constexpr const char *kRank = "model.lora.r", *kTargets = "model.lora.target_modules";
    if (!read_.has_section("model.lora")) return;
    const auto rank = read_.integer(kRank, 1);
    if (!rank) return read_.refuse(kRank, "a whole number");
    read_.set("mode", "lora", kRank);
    read_.set_count("lora", *rank, kRank);
    // Without a word it adapts every linear layer of the blocks.
    if (!read_lora_targets(read_, kTargets, read_.text(kTargets, "all-linear"))) return;
    const std::string bits = "model.llm.quantization_config.";
    if (read_.flag(bits + "load_in_4bit", false))
      read_.set("quantize",
                read_.flag(bits + "bnb_4bit_use_double_quant", false) ? "nf4-dq" : "nf4",
                bits + "load_in_4bit");
    else if (read_.flag(bits + "load_in_8bit", false))
      read_.set("quantize", "int8", bits + "load_in_8bit");
  }

  FlatReader read_;
};

}  // namespace

bool is_xtuner_config(const std::string& text) {
  return base::contains(text, "train_dataloader = dict(") &&
         base::contains(text, "optim_wrapper = dict(") && base::contains(text, "xtuner");
}

Result<Reading> parse_xtuner(const std::string& text, const std::string& file,
                             const spec::FlatYaml& words) {
  spec::FlatYaml values;
  ERGOMETER_TRY(add_python_globals(text, file, {}, values));
  if (!calls_of(without_comments(text), "read_base").empty())
    values["read_base"] = {"read_base()", 1};
  // Other names are the file's own.
  std::erase_if(values, [](const auto& item) {
    const std::string& key = item.first;
    return !base::contains(kXtunerTakes, std::string_view(key).substr(0, key.find('.')));
  });
  for (const auto& [key, value] : words) values[key] = value;
  return XtunerReader(values, file).read();
}

}  // namespace ergometer::intake
