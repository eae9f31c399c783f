#include "intake/config/axolotl.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "intake/config/trainer_arguments.h"
#include "intake/reader/flat_reader.h"

namespace ergometer::intake {
namespace {

/// Axolotl's words for arguments of the Trainer.
struct AxolotlName {
  std::string_view axolotl, trainer;
};
constexpr std::array kAxolotlNames = std::to_array<AxolotlName>({
    {"base_model", "model_name_or_path"},
    {"sequence_len", "max_seq_length"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"optimizer", "optim"},
    {"peft_layers_to_transform", "lora_layers_to_transform"},
    {"liger_fused_linear_cross_entropy", "use_liger_kernel"},
    {"sequence_parallel_degree", "context_parallel_size"},
    {"context_parallel_size", "context_parallel_size"},
});

/// What Axolotl's words are to the Trainer.
struct AxolotlWords {
  spec::FlatYaml trainer;
  std::string adapter;  ///< empty: none
  bool fuses_loss = false;
};

AxolotlWords words_of_axolotl(const spec::FlatYaml& values) {
  AxolotlWords words;
  auto& [trainer, adapter, fuses_loss] = words;
  for (const auto& [key, value] : values) {
    std::string name = key;
    for (const AxolotlName& it : kAxolotlNames)
      if (it.axolotl == key) name = it.trainer;
    const bool on = value.text == "true";
    if (key == "adapter") {
      adapter = is_off(value.text) ? "" : base::lower(value.text);
      continue;
    }
    // Without autocast: the only copy of what is trained is in BF16.
    if (key == "bf16" && value.text == "full") {
      trainer["pure_bf16"] = {"true", value.line, value.from};
      continue;
    }
    if (key == "lora_target_linear") {
      if (on) trainer["lora_target_modules"] = {"all-linear", value.line};
      continue;
    }
    if (key == "flash_attention" || key == "sdp_attention" || key == "eager_attention") {
      if (on)
        trainer["attn_implementation"] = {key == "flash_attention" ? "flash_attention_2"
                                          : key == "sdp_attention" ? "sdpa"
                                                                   : "eager",
                                          value.line};
      continue;
    }
    // Cut cross-entropy fuses the last product with the loss, as Liger's fused linear loss does.
    if ((key == "plugins" && base::contains(base::lower(value.text), "cutcrossentropy")) ||
        (key == "cut_cross_entropy" && on))
      fuses_loss = true;
    trainer[name] = value;
  }
  // Its configuration alone switches FSDP on; a list of words beside it is the older way.
  const auto section = values.lower_bound("fsdp_config.");
  const bool says = section != values.end() && section->first.starts_with("fsdp_config.");
  if (says && trainer.find("fsdp") == trainer.end())
    trainer["fsdp"] = {"full_shard", section->second.line};
  // A rank alone trains no adapters.
  if (adapter.empty()) trainer["use_peft"] = {"false", 0};
  if (!adapter.empty())
    trainer["use_peft"] = values.find("adapter")->second, trainer["use_peft"].text = "true";
  // It quantizes the scales as well, and no key of its own says otherwise.
  if (adapter == "qlora")
    trainer.try_emplace("bnb_4bit_use_double_quant", spec::FlatValue{"true", 0});
  if (trainer.find("per_device_train_batch_size") == trainer.end())
    trainer["per_device_train_batch_size"] = {"1", 0};
  return words;
}

/// All of a model that is trained whole is loaded in the width that it is trained in.
bool loads_narrow(const spec::FlatYaml& values, const AxolotlWords& words) {
  const auto bf16 = values.find("bf16"), deepspeed = values.find("deepspeed");
  const bool narrow =
      bf16 != values.end() &&
      (bf16->second.text == "true" || bf16->second.text == "auto" || bf16->second.text == "full");
  return narrow && words.adapter.empty() &&
         (deepspeed == values.end() || is_off(deepspeed->second.text)) &&
         words.trainer.find("fsdp") == words.trainer.end();
}

}  // namespace

Result<Reading> parse_axolotl(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file));
  for (const auto& [key, value] : overrides) values[key] = value;
  const AxolotlWords words = words_of_axolotl(values);
  if (const std::string& adapter = words.adapter;
      !adapter.empty() && adapter != "lora" && adapter != "qlora") {
    const spec::FlatValue& said = values.find("adapter")->second;
    const std::string where = said.from.empty() ? fmt::format("{}:{}", file, said.line) : said.from;
    return input_error("{}: adapter: found \"{}\"; allowed: lora, qlora, or none", where, adapter);
  }
  ERGOMETER_ASSIGN(Reading reading, read_trainer(words.trainer, file, TrainerKind::kPlain));
  if (words.fuses_loss)
    reading.settings.set("linear_cross_entropy_fusion", "true",
                         {fmt::format("{}, Cut Cross-Entropy", file), "plugins"});
  if (loads_narrow(values, words))
    reading.fallbacks.set("master_weights", "false",
                          {fmt::format("{}, Axolotl loads the model in BF16", file), "bf16"});
  reading.form = "an Axolotl configuration";
  return reading;
}

}  // namespace ergometer::intake
