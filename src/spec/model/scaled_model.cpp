#include "spec/model/scaled_model.h"

#include <nlohmann/json.hpp>

#include "base/collection.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "spec/catalog/read.h"
#include "spec/model/config_keys.h"
#include "spec/model/model_names.h"

namespace ergometer::spec {
namespace {

using nlohmann::json;

Result<std::string> config_text(const std::string& model) {
  if (model.starts_with('{')) return model;
  if (const CatalogEntry* entry = find_in_catalog(CatalogKind::kModel, model))
    return std::string(entry->text);
  if (const CatalogEntry* entry = find_hub_model(model)) return std::string(entry->text);
  ERGOMETER_ASSIGN(const std::string path, find_model_file(model));
  return base::read_file(path, kLargestWritten);
}

/// Wherever the object, or one inside it, has a whole number under one of the key's spellings.
void set_size(json& object, std::string_view key, int64_t size) {
  const auto spellings = config_spellings(key);
  for (auto& [name, value] : object.items()) {
    if (value.is_object() && name != "_ergometer") set_size(value, key, size);
    const bool is_it = name == key || base::contains(spellings, name);
    if (is_it && value.is_number_integer()) value = size;
  }
}

void set_sizes(json& config, const ModelSizes& sizes) {
  if (sizes.hidden > 0) set_size(config, "hidden_size", sizes.hidden);
  if (sizes.ffn > 0) set_size(config, "intermediate_size", sizes.ffn);
  if (sizes.heads > 0) set_size(config, "num_attention_heads", sizes.heads);
  if (sizes.kv_heads > 0) set_size(config, "num_key_value_heads", sizes.kv_heads);
  if (sizes.experts > 0) set_size(config, "num_experts", sizes.experts);
  if (sizes.first_dense >= 0) set_size(config, "first_k_dense_replace", sizes.first_dense);
}

bool has_sizes(const Model& model, const ModelSizes& sizes) {
  const auto is = [](int64_t wanted, int64_t got) { return wanted == 0 || wanted == got; };
  return is(sizes.hidden, model.hidden) && is(sizes.ffn, model.ffn) &&
         is(sizes.heads, model.heads) && is(sizes.kv_heads, model.kv_heads) &&
         is(sizes.experts, model.experts.count);
}

}  // namespace

Result<std::string> scaled_model(const Settings& settings, const ModelSizes& sizes) {
  const Settings::Value* named = settings.find("model");
  if (named == nullptr) return input_error("no model is given");
  ERGOMETER_ASSIGN(const Model own, read_model(named->text));
  ERGOMETER_ASSIGN(const std::string text, config_text(named->text));
  json config = json::parse(text, nullptr, false);
  if (!config.is_object()) return input_error(own.name + ": not a config.json");
  config.erase("_ergometer");
  set_sizes(config, sizes);
  config["_name_or_path"] = own.name + "-scaled";
  std::string scaled = base::json_line(config);
  ERGOMETER_ASSIGN(const Model model, read_model(scaled));
  if (!has_sizes(model, sizes))
    return input_error(own.name + ": its config.json has no keys for these sizes");
  return scaled;
}

}  // namespace ergometer::spec
