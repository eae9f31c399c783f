#include "intake/config/adapters.h"

#include "base/text.h"
#include "intake/reader/shared_words.h"
#include "spec/recipe/recipe.h"

namespace ergometer::intake {
std::string_view quantized_word(std::string_view kind, bool double_quantized) {
  if (base::contains(kind, "int8") || base::contains(kind, "8bit")) return "int8";
  const bool four = base::contains(kind, "nf4") || base::contains(kind, "fp4");
  if (!four) return "";
  return double_quantized || kind.ends_with("-dq") ? "nf4-dq" : "nf4";
}

namespace {

/// PEFT's layers_to_transform beside its r: a number or a list of them, from 0.
void read_adapted_layers(FlatReader& read, std::string_view rank) {
  if (rank != "r" && !rank.ends_with(".r") && !rank.ends_with("_r")) return;
  const std::string key = std::string(rank.substr(0, rank.size() - 1)) + "layers_to_transform";
  std::string list = read.text(key);
  if (list.empty() || list == "null" || list == "None") return;
  std::erase(list, ' ');
  for (const std::string& item : base::split(list, ','))
    if (const auto layer = base::parse_integer(item); !layer || *layer < 0)
      return read.refuse(key, "numbers of layers, from 0");
  read.set("lora_layers", list, key);
}

}  // namespace

bool read_lora_targets(FlatReader& read, std::string_view key, std::string_view listed) {
  std::string unknown;
  const auto words = spec::lora_targets(listed, unknown);
  if (words)
    read.set("lora_targets", words->empty() ? kAllLinear : *words, key);
  else
    read.refuse(key, "linear layers of attention and feed-forward");
  return words.has_value();
}

void read_lora(FlatReader& read, std::string_view rank, std::string_view targets) {
  const auto r = read.integer(rank, 1);
  if (!r) return;
  read.set_count("lora", *r, rank);
  read_adapted_layers(read, rank);
  const std::string listed = read.text(targets);
  if (listed.empty()) {
    read.note(
        "adapters are taken to be those of queries and values, PEFT's default where no modules are "
        "named; --lora-targets says which ones a script adapts by itself");
    return read.set_default("lora_targets", kPeftTargets, "PEFT's default: queries and values");
  }
  std::string unknown;
  const auto words = spec::lora_targets(listed, unknown);
  if (!words)
    return read.refuse(targets,
                       "linear layers of attention and feed-forward, which "
                       "\"{}\" is not known to be",
                       unknown);
  read.set("lora_targets", words->empty() ? kAllLinear : *words, targets);
}

Result<Reading> parse_peft(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(spec::FlatYaml values, flatten_json(text, file));
  values.try_emplace("r", spec::FlatValue{"8", -1, file + ", PEFT's default"});
  FlatReader read(values, file, "peft");
  const std::string type = read.text("peft_type", "LORA");
  if (type != "LORA" && type != "ADALORA")
    read.refuse("peft_type", "LORA: other adapters are not modelled");
  read_lora(read, "r", "target_modules");
  const std::string base_model = read.text("base_model_name_or_path");
  if (!base_model.empty())
    read.reading().defaults.set("model", base_model, read.origin("base_model_name_or_path"));
  // Unsloth's uploads, "...-bnb-4bit", are quantized twice.
  if (base_model.find("4bit") != base_model.npos)
    read.set("quantize", "nf4-dq", "base_model_name_or_path");
  if (read.flag("use_dora", false)) read.not_modelled("use_dora", kMagnitudes);
  spec::set_framework(read.reading().fallbacks, "transformers", file);
  return read.finish("PEFT's configuration of an adapter");
}

}  // namespace ergometer::intake
