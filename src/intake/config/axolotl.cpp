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
    {"sample_packing", "packing"},
    {"micro_batch_size", "per_device_train_batch_size"},
    {"optimizer", "optim"},
    {"lora_target_modules", "lora_target_modules"},
    {"liger_fused_linear_cross_entropy", "use_liger_kernel"},
    {"sequence_parallel_degree", "context_parallel_size"},
    {"context_parallel_size", "context_parallel_size"},
});

}  // namespace

base::Result<Reading> parse_axolotl(const std::string& text, const std::string& file,
                                    const spec::FlatYaml& overrides) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, spec::flatten_yaml(text, file));
  for (const auto& [key, value] : overrides) values[key] = value;
  spec::FlatYaml trainer;
  std::string adapter;
  for (const auto& [key, value] : values) {
    std::string name = key;
    for (const AxolotlName& it : kAxolotlNames)
      if (it.axolotl == key) name = it.trainer;
    const bool on = value.text == "true";
    if (key == "adapter") {
      adapter = is_off(value.text) ? "" : base::lower(value.text);
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
    trainer[name] = value;
  }
  if (!adapter.empty() && adapter != "lora" && adapter != "qlora") {
    const spec::FlatValue& said = values.find("adapter")->second;
    const std::string where = said.from.empty() ? fmt::format("{}:{}", file, said.line) : said.from;
    return base::input_error(
        fmt::format("{}: adapter: found \"{}\"; allowed: lora, qlora, or none", where, adapter));
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
  if (trainer.find("per_device_train_batch_size") == trainer.end())
    trainer["per_device_train_batch_size"] = {"1", 0};
  ERGOMETER_ASSIGN(Reading reading, read_trainer(trainer, file, TrainerKind::kPlain));
  reading.form = "an Axolotl configuration";
  return reading;
}

}  // namespace ergometer::intake
