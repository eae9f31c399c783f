#include "intake/config/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace ergometer::intake {
namespace {

struct TargetWord {
  std::string_view word, setting;
};
constexpr std::array kTargetWords = std::to_array<TargetWord>({
    {"q_proj", "qkv"},
    {"k_proj", "qkv"},
    {"v_proj", "qkv"},
    {"qkv_proj", "qkv"},
    {"query_key_value", "qkv"},
    {"c_attn", "qkv"},
    {"w_pack", "qkv"},
    {"wqkv", "qkv"},
    {"linear_qkv", "qkv"},
    {"attention_qkv", "qkv"},
    {"wq", "qkv"},
    {"wk", "qkv"},
    {"wv", "qkv"},
    {"q_a_proj", "qkv"},
    {"q_b_proj", "qkv"},
    {"kv_a_proj_with_mqa", "qkv"},
    {"kv_b_proj", "qkv"},
    {"query", "qkv"},
    {"key", "qkv"},
    {"value", "qkv"},
    {"qkv", "qkv"},
    {"o_proj", "proj"},
    {"out_proj", "proj"},
    {"output_proj", "proj"},
    {"dense", "proj"},
    {"wo", "proj"},
    {"linear_proj", "proj"},
    {"attention_dense", "proj"},
    {"proj", "proj"},
    {"gate_proj", "fc1"},
    {"up_proj", "fc1"},
    {"gate_up_proj", "fc1"},
    {"dense_h_to_4h", "fc1"},
    {"c_fc", "fc1"},
    {"fc1", "fc1"},
    {"w1", "fc1"},
    {"w3", "fc1"},
    {"linear_fc1", "fc1"},
    {"mlp_fc1", "fc1"},
    {"fc_in", "fc1"},
    {"down_proj", "fc2"},
    {"dense_4h_to_h", "fc2"},
    {"fc2", "fc2"},
    {"w2", "fc2"},
    {"linear_fc2", "fc2"},
    {"mlp_fc2", "fc2"},
    {"fc_out", "fc2"},
});

}  // namespace

std::optional<std::string> lora_targets(std::string_view targets, std::string& unknown) {
  constexpr std::array<std::string_view, 4> kOrder = {"qkv", "proj", "fc1", "fc2"};
  std::array<bool, 4> chosen = {};
  for (std::string word : base::split(targets, ',')) {
    std::erase_if(word, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
    word = base::lower(word);
    if (word == "all-linear" || word == "all" || word == "all_linear") return "";
    const std::string last = word.substr(word.rfind('.') + 1);
    // GPT-2 and the first Qwen call both projections back by one name.
    if (last == "c_proj") {
      chosen[1] = chosen[3] = true;
      continue;
    }
    const auto* it = std::ranges::find(kTargetWords, last, &TargetWord::word);
    if (it == kTargetWords.end()) {
      unknown = word;
      return std::nullopt;
    }
    chosen[static_cast<size_t>(std::ranges::find(kOrder, it->setting) - kOrder.begin())] = true;
  }
  std::string text;
  for (size_t i = 0; i < kOrder.size(); ++i)
    if (chosen[i]) text += fmt::format("{}{}", text.empty() ? "" : ",", kOrder[i]);
  return text;
}

void note_without_keys(FlatReader& read, std::string_view targets) {
  if (base::contains(targets, "q_proj") && !base::contains(targets, "k_proj"))
    read.note(
        "adapters of queries and values alone are predicted as those of queries, keys and values");
}

std::string_view quantized_word(std::string_view kind, bool double_quantized) {
  const bool four = base::contains(kind, "nf4") || base::contains(kind, "fp4");
  if (!four) return "";
  return double_quantized || kind.ends_with("-dq") ? "nf4-dq" : "nf4";
}

void note_8_bit_weights(FlatReader& read, std::string_view key) {
  read.not_modelled(key, "memory and time: the model's own weights are in 8 bits; predicted in 16");
}

void read_lora(FlatReader& read, std::string_view rank, std::string_view targets) {
  const auto r = read.integer(rank, 1);
  if (!r) return;
  read.set("lora", std::to_string(*r), rank);
  const std::string listed = read.text(targets);
  if (listed.empty()) {
    read.note(
        "adapters are taken to be those of queries and values, PEFT's default where no modules are "
        "named; --lora-targets says which ones a script adapts by itself");
    return read.set_default("lora_targets", "qkv", "PEFT's default: queries and values");
  }
  std::string unknown;
  const auto words = lora_targets(listed, unknown);
  if (!words)
    return read.refuse(targets, fmt::format("linear layers of attention and feed-forward, which "
                                            "\"{}\" is not known to be",
                                            unknown));
  read.set("lora_targets", words->empty() ? "qkv,proj,fc1,fc2" : *words, targets);
  note_without_keys(read, listed);
}

base::Result<Reading> parse_peft(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(const spec::FlatYaml values, flatten_json(text, file));
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
  if (read.flag("use_dora", false))
    read.not_modelled("use_dora", "time and memory: magnitudes beside the adapters");
  return read.finish("PEFT's configuration of an adapter");
}

}  // namespace ergometer::intake
