#include "spec/software.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/nearest.h"
#include "spec/cluster_reader.h"
#include "spec/parse_once.h"
#include "spec/read.h"

namespace ergometer::spec {
namespace {

using base::Result;

constexpr size_t kLargestSoftware = 1 << 20;

/// What a profile may stand for: habits of the software, never the job's sizes.
constexpr std::array kSettable = std::to_array<std::string_view>(
    {"attention_backend", "apply_rope_fusion", "batch_p2p_sync", "cross_entropy_loss_fusion",
     "cuda_graphs", "dropout", "fp8_param_gather", "grad_reduce_in_bf16",
     "gradient_accumulation_fusion", "moe_grouped_gemm", "moe_token_dispatcher_type",
     "overlap_grad_reduce", "overlap_p2p", "overlap_param_gather",
     "scatter_gather_tensors_in_pipeline", "sequence_parallel", "zero"});

bool in_list(const SettingInfo& info, std::string_view value) {
  if (info.kind == SettingKind::kSwitch) return value == "true" || value == "false";
  if (info.kind == SettingKind::kReal) return value == "0";
  if (info.kind == SettingKind::kInteger) return value.size() == 1 && value[0] >= '0';
  std::string_view rest = info.choices;
  while (!rest.empty()) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == value) return true;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return false;
}

void read_settings(YamlMap& file, SoftwareProfile& profile) {
  auto map = file.map("settings");
  if (!map) {
    if (file.has("settings"))
      file.refuse("settings", "found a word; allowed: a mapping of settings to values");
    return;
  }
  const Origin origin{fmt::format("software profile {}", profile.software.name), ""};
  for (const YamlMap::Item& item : map->items()) {
    if (std::find(kSettable.begin(), kSettable.end(), item.key) == kSettable.end()) {
      const auto near = base::nearest(item.key, kSettable);
      map->refuse_at(item.line, item.key,
                     fmt::format("is not a setting that a software profile may give{}",
                                 near ? fmt::format("; did you mean {}?", *near) : ""));
    } else if (const SettingInfo& info = *find_setting(item.key); !in_list(info, item.value)) {
      map->refuse_at(item.line, item.key,
                     fmt::format("found \"{}\"; allowed: {}", item.value,
                                 info.kind == SettingKind::kSwitch    ? "true or false"
                                 : info.kind == SettingKind::kInteger ? "a digit"
                                 : info.kind == SettingKind::kReal    ? "0"
                                                                      : info.choices));
    } else {
      profile.settings.set(item.key, item.value, origin);
    }
  }
}

bool is_file(const std::string& name) {
  return name.find('/') != name.npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

}  // namespace

Result<SoftwareProfile> parse_software(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(yaml, file));
  map.allow({"name", "aliases", "framework", "recipe", "settings", "parameters"});
  for (const char* key : {"name", "framework", "parameters"}) map.require(key);
  SoftwareProfile profile;
  profile.software.name = map.text("name");
  constexpr std::array<const char*, 3> kFrameworks = {"megatron", "fsdp", "nanotron"};
  const int framework = map.choice("framework", {"megatron", "fsdp", "nanotron"}, 0);
  profile.framework = kFrameworks[static_cast<size_t>(framework)];
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
  if (is_file(name_or_path)) {
    ERGOMETER_ASSIGN(const std::string text, base::read_file(name_or_path, kLargestSoftware));
    return parse_software(text, name_or_path);
  }
  const auto near = base::nearest(name_or_path, catalog_names(CatalogKind::kSoftware));
  return base::input_error(
      fmt::format("software: found \"{}\"; allowed: a software profile of the catalog{}, or a YAML "
                  "file (all names: ergometer catalog list software)",
                  name_or_path, near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

}  // namespace ergometer::spec
