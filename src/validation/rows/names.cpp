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
