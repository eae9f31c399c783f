#include "spec/model/model_names.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/nearest.h"
#include "base/text.h"
#include "spec/model/model_spellings.h"

namespace ergometer::spec {
namespace {

/// Endings that say how a model was tuned or stored, not what it is made of.
constexpr std::array<std::string_view, 29> kTuned = {
    "instruct", "base",    "hf",   "chat",    "it",    "pt",   "sft",  "dpo",
    "thinking", "preview", "v0.1", "v0.2",    "bf16",  "fp16", "fp8",  "0324",
    "0528",     "2407",    "2409", "2410",    "2501",  "2503", "2506", "2507",
    "original", "4bit",    "bnb",  "unsloth", "python"};

bool is_separator(char c) { return c == '-' || c == '_' || c == ' '; }

/// Lower case, nothing between the parts of a name.
std::string joined(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (!is_separator(c)) text += base::lower(c);
  return text;
}

/// The name without its organisation and what was done to it.
std::string_view plain_name(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view ending : kTuned) {
      const size_t size = ending.size() + 1;
      if (name.size() <= size || !is_separator(name[name.size() - size])) continue;
      if (base::lower(name.substr(name.size() - ending.size())) != ending) continue;
      name.remove_suffix(size);
      again = true;
    }
  }
  constexpr std::string_view kMeta = "meta-llama";
  if (base::lower(name.substr(0, kMeta.size())) == kMeta) name.remove_prefix(5);
  return name;
}

}  // namespace

const CatalogEntry* find_hub_model(std::string_view words) {
  if (const CatalogEntry* exact = find_in_catalog(CatalogKind::kModel, words)) return exact;
  const std::string wanted = joined(plain_name(words));
  if (wanted.empty()) return nullptr;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kModel) continue;
    if (joined(entry.name) == wanted) return &entry;
    for (const std::string_view alias : aliases_of(entry))
      if (joined(plain_name(alias)) == wanted) return &entry;
  }
  return nullptr;
}

bool is_stored_in_4_bit(std::string_view name) {
  const std::string text = base::lower(base::last_part(name, '/'));
  return text.ends_with("-4bit") || text.ends_with("_4bit");
}

std::vector<std::string_view> model_sizes(std::string_view family) {
  std::vector<std::string_view> sizes;
  const std::string wanted = joined(plain_name(family));
  if (wanted.empty()) return sizes;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kModel) continue;
    // "llama3-8b" is a size of llama3, and "llama3.1-8b" is one of llama3.1.
    const std::string_view name = entry.name;
    // "deepseek-v3" is one of deepseek, "llama3-405b-padding-128" a variant of one.
    const bool begins = name.size() > family.size() && name[family.size()] == '-' &&
                        base::lower(family) == name.substr(0, family.size());
    if (begins && !base::is_digit(name[family.size() + 1])) {
      sizes.push_back(name);
      continue;
    }
    const size_t size = name.find_last_of("-_");
    if (size == name.npos || size + 1 >= name.size()) continue;
    if (!base::is_digit(name[size + 1])) continue;
    if (joined(name.substr(0, size)) == wanted) sizes.push_back(name);
  }
  return sizes;
}

std::optional<std::string_view> nearest_model(std::string_view words) {
  for (const std::string& spelling : model_spellings(base::squashed(plain_name(words))))
    if (const CatalogEntry* entry = find_squashed_model(spelling)) return entry->name;
  const std::vector<std::string_view> names = catalog_names(CatalogKind::kModel);
  std::string_view plain = plain_name(words);
  // Another version of a model is most like the one that is known.
  if (const size_t version = plain.rfind("-v"); version != plain.npos && version > 0)
    plain = plain_name(plain.substr(0, version));
  const bool of_hub = words.find('/') != words.npos;
  const auto near = base::nearest(of_hub ? plain : words, names);
  return near ? near : base::nearest(of_hub ? words : plain, names);
}

std::string left_out_of(const CatalogEntry& entry) {
  const nlohmann::json file = nlohmann::json::parse(entry.text, nullptr, false);
  const auto ours = file.find("_ergometer");
  return ours == file.end() ? "" : ours->value("left_out", "");
}

}  // namespace ergometer::spec
