#include "validation/rows/names.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::validation {
namespace {

void erase_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != text.npos; at = text.find(part))
    text.erase(at, part.size());
}

/// Words of a name that say something else than which model it is.
constexpr std::array kNoise = std::to_array<std::string_view>(
    {"maxtext",    "nvidia",   "meta",       "hf",       "config", "model",     "instruct",
     "base",       "chat",     "finetuning", "finetune", "fine",   "tuning",    "pretraining",
     "pretrain",   "training", "sft",        "lora",     "peft",   "tokendrop", "dropless",
     "fsdp",       "hsdp",     "ddp",        "dense",    "hbm",    "bf16",      "fp8",
     "mxfp8",      "nvfp4",    "proxy",      "llm",      "ai",     "mistralai", "qwenlm",
     "deepseekai", "thinking"});

bool is_noise(std::string_view word) { return base::contains(kNoise, word); }

/// "reduced to 12 layers", "2-node": the text behind which nothing names the model.
std::optional<long> reduced_layers(std::string& name) {
  const size_t at = name.find("reduced to ");
  if (at == name.npos) return std::nullopt;
  long layers = 0;
  for (size_t i = at + 11; i < name.size() && base::is_digit(name[i]) && layers < 100'000; ++i)
    layers = layers * 10 + (name[i] - '0');
  name.resize(at);
  return layers > 0 ? std::optional(layers) : std::nullopt;
}

/// Takes "2-node" or "2 nodes" out.
void erase_node_count(std::string& name) {
  const size_t at = name.find("node");
  if (at == name.npos) return;
  size_t begin = at;
  while (begin > 0 && (name[begin - 1] == '-' || name[begin - 1] == ' ')) --begin;
  while (begin > 0 && base::is_digit(name[begin - 1])) --begin;
  name.resize(begin);
}

/// What stands in brackets is not the name, unless nothing else is.
std::string without_brackets(const std::string& name) {
  std::string result;
  int depth = 0;
  for (const char c : name) {
    if (c == '(' || c == '[') ++depth;
    if (depth == 0) result += c;
    if ((c == ')' || c == ']') && depth > 0) --depth;
  }
  return result.find_first_not_of(' ') == result.npos ? name : result;
}

struct Rewrite {
  std::string_view from, to;
};
/// Other spellings of a key's beginning: a missing dot, a release of the same shape, a size that
/// publishers round in two ways.
constexpr std::array kRewrites = std::to_array<Rewrite>({
    {"llama31", "llama3.1"},
    {"llama32", "llama3.2"},
    {"llama33", "llama3.3"},
    {"qwen25", "qwen2.5"},
    {"llama3.3", "llama3.1"},
    {"llama3405b", "llama3.1405b"},
    {"llama3.1", "llama3"},
    {"llama370b", "llama3.170b"},
    {"llama38b", "llama3.18b"},
    {"llama31b", "llama3.21b"},
    {"llama33b", "llama3.23b"},
    {"llama265b", "llama65b"},
    {"llama65b", "llama265b"},
    {"llama7b", "llama27b"},
    {"llama13b", "llama213b"},
    {"llama70b", "llama270b"},
    {"codellama7b", "llama27b"},
    {"gpt3530b", "megatron530b"},
    {"gpt530b", "megatron530b"},
    {"gpt31t", "megatron1t"},
    {"gpt1t", "megatron1t"},
    {"gpt3355m", "gpt3350m"},
    {"gpt", "gpt3"},
    {"gpt", "megatron"},
    {"gpt3", "gpt"},
    {"megatron", "gpt3"},
    {"megatronlm", "megatron"},
    {"megatronturing", "megatron"},
    {"megatrongpt", "megatron"},
    {"turingnlg", "megatron"},
    {"mtnlg", "megatron"},
    {"turing", "megatron"},
    {"nemotron", "nemotron4"},
    {"nemotron22b", "nemotron322b"},
    {"nemotron3nano", "nemotron3nano30ba3b"},
    {"nemotron3super", "nemotron3super120ba12b"},
    {"nemotron3ultra", "nemotron3ultra550b"},
    {"nemotronv3ultra550b", "nemotron3ultra550b"},
    {"nemotronv3", "nemotron3"},
    {"nemotron3ultra550ba55b", "nemotron3ultra550b"},
    {"nemotron3.5", "nemotron3"},
    {"nemotron35lightning", "nemotron3.5lightning"},
    {"nemotron3nano30b", "nemotron3nano30ba3b"},
    {"nemotron3super120b", "nemotron3super120ba12b"},
    {"qwen3moe235b", "qwen3235ba22b"},
    {"qwen3moe30b", "qwen330ba3b"},
    {"qwen3moe", "qwen3"},
    {"qwen3235b", "qwen3235ba22b"},
    {"qwen330b", "qwen330ba3b"},
    {"qwen2.5", "qwen2"},
    {"qwen2", "qwen2.5"},
    {"deepseekr1", "deepseekv3"},
    {"deepseekv3671b", "deepseekv3"},
    {"deepseekv3685b", "deepseekv3"},
    {"deepseekv3.1", "deepseekv3"},
    {"deepseek671b", "deepseekv3"},
    {"deepseekv30324", "deepseekv3"},
    {"deepseekv2236b", "deepseekv2"},
    {"deepseekv216b", "deepseekv2lite"},
    {"deepseekv2lite16b", "deepseekv2lite"},
    {"deepseek16b", "deepseekv2lite"},
    {"deepseekv4flash284b", "deepseekv4flash"},
    {"kimik21t", "kimik2"},
    {"kimi1t", "kimik2"},
    {"kimi", "kimik2"},
    {"mistral7bv0.3", "mistral7b"},
    {"mistral7bv0.2", "mistral7b"},
    {"mixtral8x7bv0.1", "mixtral8x7b"},
    {"mixtral8x22bv0.1", "mixtral8x22b"},
    {"mixtral47b", "mixtral8x7b"},
    {"mixtral141b", "mixtral8x22b"},
    {"grok1314b", "grok1"},
    {"grok314b", "grok1"},
    {"grok", "grok1"},
    {"llama4maverick400b", "llama4maverick"},
    {"llama4maverick17b128e", "llama4maverick"},
    {"llama4maverick17b", "llama4maverick"},
    {"llama4scout109b", "llama4scout"},
    {"llama4scout17b16e", "llama4scout"},
    {"llama4scout17b", "llama4scout"},
    {"llama417b128e", "llama4maverick"},
    {"llama417b16e", "llama4scout"},
    {"llama4e128", "llama4maverick"},
    {"llama4e16", "llama4scout"},
    {"vicuna", "llama2"},
    {"devstral24b", "mistralsmall24b"},
    {"nemotron8b", "nemotron38b"},
    {"nemotronnanov29b", "nemotronnano9bv2"},
    {"nemotronnanov212b", "nemotronnano12bv2"},
    {"qwen3vl", "qwen3"},
    {"glm45", "glm4.5"},
    {"glm4.6", "glm4.5"},
    {"glm4.7", "glm4.5"},
    {"phi3mini3.8b", "phi3mini"},
    {"phi33.8b", "phi3mini"},
    {"phi22.7b", "phi2"},
});

constexpr size_t kMostSpellings = 48;

}  // namespace

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result(1);
  for (const char c : text) {
    if (base::is_letter_or_digit(c) || c == '.')
      result.back() += base::lower(c);
    else if (!result.back().empty())
      result.emplace_back();
  }
  if (result.back().empty()) result.pop_back();
  return result;
}

ModelName parse_model_name(std::string_view text) {
  ModelName result;
  std::string name = base::lower(text);
  result.token_drop = contains(name, "tokendrop") || contains(name, "token drop");
  result.dropless = contains(name, "dropless");
  if (contains(name, "w/o mtp") || contains(name, "without mtp") || contains(name, "no mtp"))
    result.mtp = false;
  else if (contains(name, "mtp"))
    result.mtp = true;
  result.lora = contains(name, "lora") || contains(name, "peft");
  result.fine_tuning = result.lora || contains(name, "sft") || contains(name, "finetun") ||
                       contains(name, "fine-tun");
  result.fsdp = contains(name, "fsdp");
  result.proxy = contains(name, "proxy");
  result.layers = reduced_layers(name);
  name = without_brackets(name);
  for (const std::string_view part : {"w/o mtp", "without mtp", "no mtp", "with mtp", "w/ mtp"})
    erase_all(name, part);
  erase_node_count(name);
  if (const size_t slash = name.rfind('/'); slash != name.npos && slash + 1 < name.size())
    name.erase(0, slash + 1);
  for (const std::string& word : words(name))
    if (!is_noise(word)) result.key += word;
  if (result.key.empty()) result.key = base::squashed(name);
  return result;
}

std::vector<std::string> spellings(const std::string& key) {
  std::vector<std::string> result = {key};
  const auto add = [&](std::string spelling) {
    if (!base::contains(result, spelling) && result.size() < kMostSpellings)
      result.push_back(std::move(spelling));
  };
  // NeMo's classes spell 1.5 B "1P5B".
  std::string dotted = key;
  for (size_t i = 1; i + 1 < dotted.size(); ++i)
    if (dotted[i] == 'p' && base::is_digit(dotted[i - 1]) && base::is_digit(dotted[i + 1]))
      dotted[i] = '.';
  add(dotted);
  // And put their "Config" in the middle: Llama3Config8B.
  erase_all(dotted, "config");
  add(dotted);
  // Each rewriting may open the way for another.
  for (size_t i = 0; i < result.size() && result.size() < kMostSpellings; ++i)
    for (const Rewrite& rewrite : kRewrites)
      if (result[i].starts_with(rewrite.from) &&
          !(rewrite.to.starts_with(rewrite.from) && result[i].starts_with(rewrite.to)))
        add(std::string(rewrite.to) + result[i].substr(rewrite.from.size()));
  return result;
}

std::optional<std::string_view> node_of_gpu(std::string_view gpu) {
  const std::string key = base::squashed(gpu);
  const auto has = [&](std::string_view part) { return contains(key, part); };
  if (has("gb300")) return "gb300-nvl72";
  if (has("gb200")) return "gb200-nvl72";
  if (has("gh200")) return "gh200";
  if (has("b300")) return "hgx-b300";
  if (has("b200")) return "hgx-b200";
  // The NVL cards of these two are on PCIe, with power limits of their own.
  if (has("h200nvl") || has("h100nvl")) return std::nullopt;
  if (has("h200")) return "hgx-h200";
  if (has("h100")) {
    if (has("pcie")) return "h100-pcie";
    return has("96gb") || has("500w") || has("hbm2e") ? "hgx-h100-500w" : "hgx-h100";
  }
  if (has("a100") && !has("a1000")) {
    if (has("pcie")) return "a100-pcie";
    return has("40g") ? "hgx-a100-40gb" : "dgx-a100";
  }
  if (has("h800") && !has("pcie")) return "hgx-h800";
  if (has("a800") && !has("pcie")) return "hgx-a800";
  if (has("v100")) return has("32g") ? "dgx2-v100" : "dgx1-v100";
  if (has("l40s")) return "l40s";
  if (has("a10g")) return "a10g";
  if (key.starts_with("l4") && !has("l40")) return "l4";
  for (const std::string_view node : {"rtx-3080", "rtx-3090", "rtx-4090", "rtx-5090"})
    if (has(base::squashed(node))) return node;
  if (has("a40") && !has("a400")) return "a40";
  for (const std::string_view kind : {"mi355x", "mi350x", "mi325x", "mi300x", "mi250x", "mi250"})
    if (has(kind)) return kind;
  return std::nullopt;
}

PrecisionName parse_precision(std::string_view text, bool blackwell) {
  const std::string key = base::squashed(text);
  const auto has = [&](std::string_view part) { return contains(key, part); };
  if (has("nvfp4") || has("fp4")) return {"nvfp4", "mxfp8"};
  if (has("fp8")) {
    if (has("blockmx") || has("parenthesised")) return {"fp8", blackwell ? "mxfp8" : "blockwise"};
    if (has("mx")) return {"fp8", "mxfp8"};
    if (has("fp8sc") || has("block") || has("subchannel")) return {"fp8", "blockwise"};
    if (has("rowwise")) return {"fp8", "rowwise"};
    if (has("fp8cs") || has("linear") || has("tensorwise") || has("current"))
      return {"fp8", "tensorwise"};
    if (has("fp8ds") || has("delayed") || has("hybrid")) return {"fp8", "delayed"};
    return {"fp8", ""};
  }
  if (has("bf16") || has("bfloat16")) return {"bf16", ""};
  if (has("fp16") || has("float16") || has("half")) return {"fp16", ""};
  if (has("fp32") || has("tf32") || has("float32")) return {"fp32", ""};
  return {};
}

std::vector<Version> versions_in(std::string_view text) {
  std::vector<Version> found;
  size_t at = 0;
  const auto number = [&] {
    int value = 0;
    for (; at < text.size() && base::is_digit(text[at]); ++at)
      value = std::min(value, 99999) * 10 + text[at] - '0';
    return value;
  };
  while (at < text.size()) {
    if (!base::is_digit(text[at])) {
      ++at;
      continue;
    }
    Version version;
    version.major = number();
    if (at + 1 < text.size() && text[at] == '.' && base::is_digit(text[at + 1])) {
      ++at;
      version.minor = number();
      found.push_back(version);
    }
    while (at < text.size() && (base::is_digit(text[at]) || text[at] == '.'))
      ++at;  // a patch level
  }
  return found;
}

int release_number(std::string_view text) {
  constexpr int kCentury = 2000, kFirst = 20, kMonths = 12;
  for (const auto& [major, minor] : versions_in(text)) {
    const int year = major >= kCentury ? major - kCentury : major;
    if (year >= kFirst && year < 100 && minor >= 1 && minor <= kMonths) return year * 100 + minor;
  }
  return 0;
}

}  // namespace ergometer::validation
