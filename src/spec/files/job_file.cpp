#include <fmt/format.h>

#include <filesystem>

#include "base/collection.h"
#include "base/nearest.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_files.h"
#include "spec/cluster/cluster_names.h"
#include "spec/job/named_file.h"
#include "spec/settings/settings.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {
namespace {

bool is_group(std::string_view key) {
  for (const SettingInfo& info : setting_table())
    if (info.group == key) return true;
  return false;
}

/// The file `text` in the folder of `file`, if there is one.
std::string beside(const std::string& text, const std::string& file) {
  const std::filesystem::path moved = std::filesystem::path(file).parent_path() / text;
  std::error_code ignored;
  return std::filesystem::exists(moved, ignored) ? moved.string() : text;
}

/// Paths in a job file start from its folder; catalog names and inline mappings stay as they are.
std::string relocated(const std::string& text, CatalogKind kind, const std::string& file) {
  const bool known = kind == CatalogKind::kCluster ? find_cluster(text) != nullptr
                                                   : find_in_catalog(kind, text) != nullptr;
  return known || text.starts_with('{') ? text : beside(text, file);
}

class JobFileReader {
 public:
  explicit JobFileReader(const std::string& file, std::span<const std::string_view> skip = {})
      : file_(file), skip_(skip) {}

  void read(YamlMap& map, const std::string& prefix) {
    for (const YamlMap::Item& item : map.items()) {
      if (base::contains(skip_, item.key)) continue;
      if (prefix.empty() && item.is_map && is_group(item.key)) {
        if (auto inner = map.map(item.key)) read(*inner, item.key + ".");
      } else {
        add(map, item, prefix);
      }
    }
  }

  Settings settings;

 private:
  void add(YamlMap& map, const YamlMap::Item& item, const std::string& prefix) {
    const SettingInfo* info = find_setting(item.key);
    // "precision" is both: one word is the setting.
    if (prefix.empty() && is_group(item.key) && info == nullptr)
      return map.refuse_at(item.line, item.key,
                           fmt::format("found \"{}\"; allowed: a mapping of settings", item.value));
    if (info == nullptr) return refuse_unknown(map, item, prefix.empty());
    const bool is_inline = info->name == "model" || info->name == "cluster";
    if (item.is_map && !is_inline)
      return map.refuse_at(item.line, item.key, "found a mapping; allowed: one value");
    if (const Settings::Value* first = settings.find(info->name))
      return map.refuse_at(item.line, item.key,
                           fmt::format("stands here a second time; the first is {} ({})",
                                       first->origin.key, first->origin.text));
    settings.set(info->name, relocated_value(*info, item.value, file_),
                 Origin{fmt::format("{}:{}", file_, item.line), prefix + item.key});
  }

  void refuse_unknown(YamlMap& map, const YamlMap::Item& item, bool at_top) {
    auto near = nearest_setting(item.key);
    if (!near && at_top) {
      std::vector<std::string_view> groups = base::mapped(setting_table(), &SettingInfo::group);
      near = base::nearest(item.key, groups);
    }
    map.refuse_at(item.line, item.key,
                  fmt::format("is not a setting{} (`ergometer simulate --help` shows all)",
                              base::did_you_mean(near)));
  }

  const std::string& file_;
  std::span<const std::string_view> skip_;
};

}  // namespace

std::string relocated_value(const SettingInfo& setting, std::string text, const std::string& file) {
  if (setting.name == "model") return relocated(text, CatalogKind::kModel, file);
  if (setting.name == "cluster")
    return text.starts_with('{') ? relocated_parts(text, file)
                                 : relocated(text, CatalogKind::kCluster, file);
  if (setting.name == "software") return relocated(text, CatalogKind::kSoftware, file);
  if (setting.name == "rank_map" || setting.name == "schedule_file") return beside(text, file);
  const bool may_be_file = setting.name == "moe_routing" || setting.name == "sequence_lengths" ||
                           setting.name == "samples";
  if (may_be_file && text.starts_with(kFilePrefix))
    return std::string(kFilePrefix) + beside(text.substr(kFilePrefix.size()), file);
  return text;
}

Settings read_settings(YamlMap& map, const std::string& file,
                       std::span<const std::string_view> skip) {
  JobFileReader reader(file, skip);
  reader.read(map, "");
  return std::move(reader.settings);
}

Result<Settings> parse_job_file(const std::string& text, const std::string& file) {
  ERGOMETER_ASSIGN(YamlMap map, YamlMap::parse(text, file));
  JobFileReader reader(file);
  reader.read(map, "");
  if (map.error()) return tl::unexpected(*map.error());
  return std::move(reader.settings);
}

}  // namespace ergometer::spec
