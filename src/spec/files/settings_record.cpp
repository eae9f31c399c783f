#include "spec/files/settings_record.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_writer.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_files.h"
#include "spec/cluster/cluster_names.h"
#include "spec/job/expert_routing.h"
#include "spec/job/sample_sizes.h"
#include "spec/job/sequence_lengths.h"
#include "spec/model/model_names.h"
#include "spec/recipe/recipe.h"
#include "spec/settings/rank_map.h"
#include "spec/settings/schedule_file.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {
namespace {

bool in_catalog(std::string_view setting, const std::string& text) {
  std::error_code ignored;
  if (setting == "model")
    return find_in_catalog(CatalogKind::kModel, text) != nullptr ||
           (find_hub_model(text) != nullptr && !std::filesystem::exists(text, ignored));
  if (setting == "software") return !is_software_file(text);
  return find_cluster(text) != nullptr;
}

/// The file as inline text: JSON from its brace on, YAML as JSON.
Result<std::string> inline_text(std::string_view setting, const std::string& path) {
  std::string file = path;
  if (setting == "model") {
    ERGOMETER_ASSIGN(file, find_model_file(path));
  }
  ERGOMETER_ASSIGN(std::string text, base::read_file(file, kLargestWritten));
  if (setting == "model") {
    const size_t brace = text.find('{');
    return brace == std::string::npos ? text : text.substr(brace);
  }
  if (setting == "cluster") return with_parts_inline(text, file);
  ERGOMETER_ASSIGN(const YamlMap map, YamlMap::parse(text, file));
  return map.as_json();
}

/// A setting whose text may name a file, and what says the same without it.
struct FileSetting {
  const char* name;
  Result<std::string> (*without_file)(const std::string& text);
};
constexpr std::array kFileSettings = std::to_array<FileSetting>({
    {"rank_map", [](const std::string& text) { return parse_rank_map(text).map(rank_map_text); }},
    {"moe_routing", [](const std::string& text) { return routing_without_file(text); }},
    {"sequence_lengths", lengths_without_file},
    {"samples", samples_without_file},
    {"schedule_file", schedule_file_text},
});

/// Empty where the object has no such text.
std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<Settings> without_files(const Settings& settings) {
  Settings result = settings;
  for (const char* name : {"model", "cluster", "software"}) {
    const Settings::Value* value = settings.find(name);
    if (value == nullptr) continue;
    const bool is_inline = value->text.starts_with('{');
    const bool has_parts = is_inline && std::string_view(name) == "cluster";
    if (!has_parts && (is_inline || in_catalog(name, value->text))) continue;
    ERGOMETER_ASSIGN(std::string text, has_parts ? with_parts_inline(value->text, "cluster")
                                                 : inline_text(name, value->text));
    result.set(name, std::move(text), value->origin);
  }
  for (const FileSetting& setting : kFileSettings) {
    const Settings::Value* value = settings.find(setting.name);
    if (value == nullptr) continue;
    ERGOMETER_ASSIGN(std::string text, setting.without_file(value->text));
    result.set(setting.name, std::move(text), value->origin);
  }
  return result;
}

std::string settings_json(const Settings& settings) {
  base::JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : settings.all()) {
    json.key(name).begin_object(base::kOneLine);
    json.member("text", value.text).member("origin", value.origin.text);
    if (!value.origin.key.empty()) json.member("key", value.origin.key);
    json.end_object();
  }
  json.end_object();
  return json.take();
}

Result<Settings> parse_settings_json(std::string_view json, const std::string& file) {
  const auto tree = nlohmann::json::parse(json, nullptr, false);
  if (!tree.is_object()) return input_error("{}: settings: found no JSON object", file);
  Settings settings;
  for (const auto& [name, value] : tree.items()) {
    if (!value.is_object() || !value.contains("text"))
      return input_error("{}: settings.{}: found no text", file, name);
    const SettingInfo* info = find_setting(name);
    if (info == nullptr || info->name != name)
      return input_error("{}: settings.{}: is not a setting", file, name);
    settings.set(name, text_of(value, "text"),
                 {fmt::format("{} ({})", file, text_of(value, "origin")), text_of(value, "key")});
  }
  return settings;
}

}  // namespace ergometer::spec
