#include "spec/recipe/software.h"

#include <fmt/format.h>

#include <vector>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "spec/catalog/parse_once.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/job/job_words.h"

namespace ergometer::spec {
namespace {

constexpr size_t kLargestSoftware = 1 << 20;

bool in_list(const SettingInfo& info, std::string_view value) {
  if (info.kind == SettingKind::kSwitch) return value == "true" || value == "false";
  if (info.kind == SettingKind::kReal) return value == "0";
  if (info.kind == SettingKind::kInteger) return value.size() == 1 && value[0] >= '0';
  return index_of(info.choices, value) >= 0;
}

/// Habits of the software, never the job's sizes.
std::vector<std::string_view> habits() {
  std::vector<std::string_view> names;
  for (const SettingInfo& info : setting_table())
    if (info.habit) names.push_back(info.name);
  return names;
}

void read_settings(YamlMap& file, SoftwareProfile& profile) {
  auto map = file.map("settings", "a mapping of settings to values");
  if (!map) return;
  const Origin origin{fmt::format("software profile {}", profile.software.name), ""};
  for (const YamlMap::Item& item : map->items()) {
    const SettingInfo* info = find_setting(item.key);
    if (info == nullptr || info->name != item.key || !info->habit) {
      map->refuse_at(item.line, item.key,
                     fmt::format("is not a setting that a software profile may give{}",
                                 base::did_you_mean(item.key, habits())));
    } else if (!in_list(*info, item.value)) {
      map->refuse_at(item.line, item.key,
                     fmt::format("found \"{}\"; allowed: {}", item.value,
                                 info->kind == SettingKind::kSwitch    ? "true or false"
                                 : info->kind == SettingKind::kInteger ? "a digit"
                                 : info->kind == SettingKind::kReal    ? "0"
                                                                       : info->choices));
    } else {
      profile.settings.set(item.key, item.value, origin);
    }
  }
}

bool names_file(const std::string& name) {
  return name.find('/') != name.npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

}  // namespace

Result<SoftwareProfile> parse_software(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(yaml, file));
  map.allow({"name", "aliases", "framework", "recipe", "settings", "parameters"});
  for (const char* key : {"name", "framework", "parameters"}) map.require(key);
  SoftwareProfile profile;
  profile.software.name = map.text("name");
  profile.framework =
      static_cast<Framework>(map.choice("framework", base::split(words_of(Framework{}), '|'), 0));
  profile.recipe = map.text("recipe");
  if (map.error()) return tl::unexpected(*map.error());
  read_settings(map, profile);
  read_parameters(map, {ParameterOwner::kSoftware}, "", profile.software.parameters);
  require_parameters(map, ParameterOwner::kSoftware, "", profile.software.parameters,
                     "the software profile");
  if (map.error()) return tl::unexpected(*map.error());
  return profile;
}

Result<SoftwareProfile> read_software(const std::string& name_or_path) {
  if (name_or_path.starts_with('{')) return parse_software(name_or_path, "software");
  if (const CatalogEntry* entry = find_in_catalog(CatalogKind::kSoftware, name_or_path))
    return parse_once(*entry, parse_software);
  if (names_file(name_or_path)) {
    ERGOMETER_ASSIGN(const std::string text, base::read_file(name_or_path, kLargestSoftware));
    return parse_software(text, name_or_path);
  }
  const auto near = base::nearest(name_or_path, catalog_names(CatalogKind::kSoftware));
  return input_error(
      "software: found \"{}\"; allowed: a software profile of the catalog{}, or a YAML "
      "file (all names: ergometer catalog list software)",
      name_or_path, near ? fmt::format(" (did you mean {}?)", *near) : "");
}

}  // namespace ergometer::spec
