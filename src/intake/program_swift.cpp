#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "intake/config/adapters.h"
#include "intake/config/trainer_arguments.h"
#include "intake/megatron_arguments.h"
#include "intake/megatron_names.h"
#include "intake/program_reader.h"
#include "intake/programs/launcher_options.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/framework_options.h"
#include "spec/catalog/read.h"
#include "spec/model/model_names.h"

// ms-swift: `swift sft` is the Trainer and `megatron sft` Megatron-LM, both with other words and
// other defaults.

namespace ergometer::intake {
namespace {

/// ms-swift's words for arguments of the Trainer.
struct SwiftName {
  std::string_view swift, trainer;
};
constexpr std::array kSwiftNames = std::to_array<SwiftName>({
    {"model", "model_name_or_path"},
    {"model_id_or_path", "model_name_or_path"},
    {"target_modules", "lora_target_modules"},
    {"attn_impl", "attn_implementation"},
    {"dtype", "torch_dtype"},
});

constexpr std::string_view kOwnDefault = "ms-swift's default";

bool is_tuner(std::string_view name) {
  return name == "train_type" || name == "tuner_type" || name == "sft_type";
}

bool is_idle(const Argument& argument) {
  return classify("ms-swift", argument.name, "").kind == Leftover::Kind::kNoEffect;
}

Leftover idle(const Argument& argument) {
  return {Leftover::Kind::kNoEffect, "--" + argument.name, argument.where, ""};
}

base::Error wrong(const Argument& argument, std::string_view allowed) {
  return {base::ErrorKind::kInput,
          fmt::format("{}: --{}: found \"{}\"; allowed: {}", argument.where, argument.name,
                      argument.list.substr(0, 60), allowed)};
}

/// The configurations of DeepSpeed that come with ms-swift, by their names.
bool add_own_deepspeed(const Argument& argument, spec::FlatYaml& values) {
  std::string name = argument.value;
  const bool offloads = name.ends_with("_offload");
  if (offloads) name.resize(name.size() - std::string_view("_offload").size());
  if (name.size() != 5 || !name.starts_with("zero") || name[4] < '0' || name[4] > '3') return false;
  const auto add = [&](std::string_view key, std::string value) {
    values[fmt::format("deepspeed.zero_optimization.{}", key)] = {std::move(value), -1,
                                                                  argument.where};
  };
  add("stage", name.substr(4));
  add("overlap_comm", "false");
  if (offloads) add("offload_optimizer.device", "cpu");
  if (offloads && name == "zero3") add("offload_param.device", "cpu");
  return true;
}

/// ms-swift packs for variable-length kernels.
void tell_packing(const std::vector<Argument>& arguments, Reading& reading) {
  const auto packing = std::ranges::find(arguments, "packing", &Argument::name);
  if (packing != arguments.end() && base::lower(packing->value) != "false")
    reading.leftovers.push_back(
        {Leftover::Kind::kNotModelled, "packing", packing->where, kPackedDocuments});
}

/// The Trainer's values for the words of `swift sft`.
class SwiftWords {
 public:
  Result<void> read(const Argument& argument) {
    const auto put = [&](std::string_view key, std::string value) {
      values_[std::string(key)] = {std::move(value), -1, argument.where};
    };
    std::string_view name = argument.name;
    for (const SwiftName& it : kSwiftNames)
      if (it.swift == name) name = it.trainer;
    const std::string value = argument.list.empty() ? "true" : argument.list;
    if (is_tuner(argument.name)) {
      if (value != "lora" && value != "full") return tl::unexpected(wrong(argument, "lora, full"));
      put("use_peft", value == "lora" ? "true" : "false");
    } else if (name == "deepspeed" && add_own_deepspeed(argument, values_)) {
    } else if (name == "torch_dtype") {
      // The Trainer's switches follow from it.
      put(value == "float16" ? "fp16" : value == "float32" ? "no_16" : "bf16", "true");
    } else if (name == "attn_implementation") {
      put(name, value == "flash_attn" ? "flash_attention_2" : value);
    } else if (name == "quant_method" && value == "bnb") {
      // What its bits are read as; others stay unknown words.
    } else if (name == "quant_bits") {
      put(value == "8" ? "load_in_8bit" : "load_in_4bit", value == "0" ? "false" : "true");
    } else {
      put(name, value);
    }
    return {};
  }
  spec::FlatYaml finish() {
    const auto by_default = [&](std::string_view key, std::string_view value) {
      values_.try_emplace(std::string(key), spec::FlatValue{std::string(value), 0});
    };
    by_default("use_peft", "true");
    if (values_.at("use_peft").text == "true") {
      by_default("lora_rank", "8");
      by_default("lora_target_modules", "all-linear");
    }
    if (values_.erase("no_16") == 0 && !values_.contains("fp16")) by_default("bf16", "true");
    if (const auto it = values_.find("load_in_4bit");
        it != values_.end() && it->second.text == "true")
      by_default("bnb_4bit_use_double_quant", "true");
    by_default("gradient_checkpointing", "true");
    by_default("per_device_train_batch_size", "1");
    return std::move(values_);
  }

 private:
  spec::FlatYaml values_;
};

/// Megatron-LM's arguments for the words of `megatron sft`, which say true and false.
std::vector<Argument> megatron_words(const std::vector<Argument>& words) {
  std::vector<Argument> made;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(words,
                               [&](const Argument& argument) { return argument.name == name; });
  };
  for (Argument argument : words) {
    const std::string value = base::lower(argument.value);
    if (argument.name == "max_length") argument.name = "seq_length";
    if (value == "false" || (argument.name == "recompute_granularity" && value == "none")) continue;
    if (value == "true") argument.value = argument.list = "";
    if (argument.name == "torch_dtype" || argument.name == "dtype") {
      if (value != "bfloat16" && value != "float16") continue;
      argument.name = value == "float16" ? "fp16" : "bf16";
      argument.value = argument.list = "";
    }
    made.push_back(std::move(argument));
  }
  struct Default {
    std::string_view name, value;
  };
  constexpr std::array kDefaults = std::to_array<Default>({{"use_distributed_optimizer", ""},
                                                           {"moe_grouped_gemm", ""},
                                                           {"expert_tensor_parallel_size", "1"},
                                                           {"micro_batch_size", "1"},
                                                           {"global_batch_size", "16"},
                                                           {"recompute_granularity", "selective"},
                                                           {"attention_backend", "flash"}});
  for (const auto& [name, value] : kDefaults)
    if (!has(name))
      made.push_back({std::string(name), std::string(value), std::string(value),
                      std::string(kOwnDefault), ""});
  const auto in_16 = [](const Argument& argument) {
    return argument.name == "bf16" || argument.name == "fp16";
  };
  const bool in_32 = std::ranges::any_of(words, [](const Argument& argument) {
    return (argument.name == "torch_dtype" || argument.name == "dtype") &&
           argument.value == "float32";
  });
  if (!in_32 && std::ranges::none_of(made, in_16))
    made.push_back({"bf16", "", "", std::string(kOwnDefault), ""});
  return made;
}

/// Experts that a model lacks are not split, and shared ones overlap with nothing.
void drop_words_of_experts(Reading& reading) {
  const auto* named = reading.settings.find("model");
  if (named == nullptr) return;
  const auto model = spec::read_model(named->text);
  constexpr const char* kSplit = "expert_tensor_parallel_size";
  const auto* split = reading.settings.find(kSplit);
  if (model && model->experts.count == 0 && split != nullptr && split->origin.text == kOwnDefault)
    reading.settings.erase(kSplit);
  const auto* overlap = reading.settings.find("moe_shared_expert_overlap");
  if (overlap == nullptr) return;
  if (!model || model->experts.shared_ffn > 0) return;
  reading.leftovers.push_back({Leftover::Kind::kNoEffect, overlap->origin.key, overlap->origin.text,
                               "the model has no shared experts"});
  reading.settings.erase("moe_shared_expert_overlap");
}

/// Words of `megatron sft` that are not Megatron-LM's.
class MegatronSwiftWords {
 public:
  explicit MegatronSwiftWords(const std::string& script)
      : by_default_{script + ", ms-swift's default", ""} {}

  /// Whether it is one of them.
  bool take(const Argument& argument) {
    if (argument.name == "model" || (argument.name == "load" && model_ == nullptr))
      model_ = &argument;
    else if (is_tuner(argument.name))
      tuner_ = &argument;
    else if (argument.name == "lora_rank")
      rank_ = &argument;
    else if (argument.name == "target_modules")
      targets_ = &argument;
    else if (argument.name == "packing")
      packs_ = base::lower(argument.value) != "false";
    else
      return false;
    return true;
  }
  bool packs() const { return packs_; }
  std::vector<const Argument*> said() const {
    std::vector<const Argument*> all = {model_, tuner_, rank_, targets_};
    std::erase(all, nullptr);
    return all;
  }

  void set_model(Reading& reading) const {
    if (model_ == nullptr) return;
    // Converted weights keep the model's name: Qwen3-30B-A3B-Base-mcore.
    std::string name = model_->value;
    while (name.ends_with('/')) name.pop_back();
    for (const std::string_view end : {"-mcore", "_mcore", "-MCore"})
      if (name.ends_with(end)) name.resize(name.size() - end.size());
    const std::string last(file_name(name));
    if (spec::find_hub_model(last) != nullptr)
      set(reading, "model", last, model_);
    else if (model_->name == "model")
      set(reading, "model", name, model_);
    else
      reading.open["model"] =
          fmt::format("{}: which model --{} {} is, its name does not say; give --model",
                      model_->where, model_->name, model_->value);
  }

  Result<void> set_adapters(Reading& reading) const {
    if (tuner_ == nullptr || tuner_->value == "full") return {};
    if (tuner_->value != "lora") return tl::unexpected(wrong(*tuner_, "lora, full"));
    const auto number = base::parse_integer(rank_ == nullptr ? "8" : rank_->value);
    if (!number || *number < 1) return tl::unexpected(wrong(*rank_, "a whole number from 1"));
    std::string unknown;
    const auto layers =
        spec::lora_targets(targets_ == nullptr ? "all-linear" : targets_->list, unknown);
    if (!layers)
      return tl::unexpected(wrong(*targets_, "linear layers of attention and feed-forward"));
    set(reading, "lora", std::to_string(*number), rank_);
    set(reading, "lora_targets", layers->empty() ? kAllLinear : *layers, targets_);
    return {};
  }

 private:
  void set(Reading& reading, std::string_view name, std::string value, const Argument* from) const {
    reading.settings.set(
        name, std::move(value),
        from == nullptr ? by_default_ : spec::Origin{from->where, "--" + from->name});
  }

  spec::Origin by_default_;
  const Argument *model_ = nullptr, *tuner_ = nullptr, *rank_ = nullptr, *targets_ = nullptr;
  bool packs_ = false;
};

}  // namespace

Result<std::vector<Argument>> ProgramReader::swift_arguments() const {
  ERGOMETER_ASSIGN(std::vector<Argument> words, arguments_of(launch_.arguments, run_, kAllCount));
  const auto named = [&](std::string_view name) {
    return std::ranges::find(words, name, &Argument::name);
  };
  const auto config = named("config");
  if (config == words.end()) return words;
  ERGOMETER_TRY(check_known(*config));
  const std::string path = config->value;
  ERGOMETER_ASSIGN(const std::string text, text_of(path, launch_.line, "--config"));
  ERGOMETER_ASSIGN(const spec::FlatYaml values, spec::flatten_yaml(text, path));
  words.erase(config);
  std::vector<Argument> all;
  for (const auto& [key, value] : values)
    if (named(key) == words.end())
      all.push_back({key, value.text, value.text, fmt::format("{}:{}", path, value.line), ""});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Result<Reading> ProgramReader::swift() const {
  ERGOMETER_ASSIGN(const std::vector<Argument> arguments, swift_arguments());
  SwiftWords words;
  std::vector<Leftover> leftovers;
  for (const Argument& argument : arguments) {
    if (is_idle(argument)) {
      leftovers.push_back(idle(argument));
      continue;
    }
    ERGOMETER_TRY(check_known(argument));
    ERGOMETER_TRY(words.read(argument));
  }
  spec::FlatYaml values = words.finish();
  // As many as make 16 sequences a step, where nobody says how many.
  constexpr int64_t kUsualBatch = 16;
  const auto batch = base::parse_integer(values.at("per_device_train_batch_size").text);
  const bool follows = !values.contains("gradient_accumulation_steps");
  if (follows && launch_.gpus > 0 && batch && *batch > 0 && *batch < kUsualBatch * kUsualBatch) {
    const int64_t at_once = *batch * launch_.gpus;
    values["gradient_accumulation_steps"] = {std::to_string((kUsualBatch + at_once - 1) / at_once),
                                             0};
  }
  ERGOMETER_ASSIGN(Reading reading, read_trainer(values, run_.session.name, TrainerKind::kPlain));
  if (follows && launch_.gpus == 0) {
    reading.defaults.erase("gradient_accumulation_steps");
    reading.open["gradient_accumulation_steps"] = fmt::format(
        "{}: how often gradients are accumulated: until a step has 16 sequences, on GPUs of which "
        "the number is not said; give --ga or --gbs",
        run_.session.where(launch_.line));
  }
  tell_packing(arguments, reading);
  reading.leftovers.insert(reading.leftovers.end(), leftovers.begin(), leftovers.end());
  return reading;
}

Result<Reading> ProgramReader::megatron_swift() const {
  ERGOMETER_ASSIGN(std::vector<Argument> arguments,
                   arguments_of(launch_.arguments, run_, kAllCount));
  MegatronSwiftWords own(run_.session.name);
  std::vector<Leftover> leftovers;
  std::vector<Argument> words;
  for (const Argument& argument : arguments) {
    if (own.take(argument)) continue;
    if (is_idle(argument))
      leftovers.push_back(idle(argument));
    else
      words.push_back(argument);
  }
  for (const Argument* argument : own.said()) ERGOMETER_TRY(check_known(*argument));
  for (const Argument& argument : words) ERGOMETER_TRY(check_known(argument));
  ERGOMETER_ASSIGN(Reading reading, read_megatron(megatron_words(words), run_.session.name));
  reading.leftovers.insert(reading.leftovers.end(), leftovers.begin(), leftovers.end());
  own.set_model(reading);
  drop_words_of_experts(reading);
  tell_packing(arguments, reading);
  if (const auto* length = reading.settings.find("seq_length"); length != nullptr && !own.packs())
    reading.notes.push_back(unpacked_note(length->text));
  ERGOMETER_TRY(own.set_adapters(reading));
  return reading;
}

}  // namespace ergometer::intake
