#include "intake/config/hydra_defaults.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "spec/yaml/yaml_node.h"

namespace ergometer::intake {
namespace {

using ReadText = std::function<Result<std::string>(const std::string& path)>;

/// An item of a list: the group it is of, none for a file of the same group, and the file's name.
struct Default {
  std::string group, package, name;
  bool optional = false, overrides = false;
};

std::string word_behind(std::string& text, std::string_view word) {
  const bool there =
      text.starts_with(word) && text.size() > word.size() && text[word.size()] == ' ';
  if (there) text.erase(0, word.size() + 1);
  return there ? std::string(word) : "";
}

std::vector<Default> items_of(const YAML::Node& list) {
  std::vector<Default> items;
  for (const YAML::Node& node : list) {
    if (node.IsScalar()) {
      items.push_back({"", "", node.as<std::string>(), false, false});
      continue;
    }
    if (!node.IsMap() || node.size() != 1) continue;
    // An iterator's pair is gone with it; a node is a handle that may be kept.
    const YAML::Node value = node.begin()->second;
    std::string key = node.begin()->first.as<std::string>("");
    Default item;
    item.overrides = !word_behind(key, "override").empty();
    item.optional = !word_behind(key, "optional").empty();
    const size_t at = key.find('@');
    item.group = key.substr(0, at);
    if (at != key.npos) item.package = key.substr(at + 1);
    std::vector<std::string> names;
    if (value.IsScalar()) names = {value.as<std::string>()};
    if (value.IsSequence())
      for (const YAML::Node& one : value) names.push_back(one.as<std::string>(""));
    for (std::string& name : names) {
      item.name = std::move(name);
      items.push_back(item);
    }
    // `- model: null`, which a word of the command line may fill.
    if (names.empty()) items.push_back(item);
  }
  return items;
}

/// `# @package _global_` of a file's first lines; nothing where it is not said.
std::string package_of(const std::string& text, std::string otherwise) {
  constexpr std::string_view kMark = "@package ";
  const size_t at = text.find(kMark);
  if (at == text.npos || text.rfind('#', at) == text.npos ||
      text.substr(0, at).find(':') != text.npos)
    return otherwise;
  const size_t begin = at + kMark.size();
  const std::string name = text.substr(begin, text.find_first_of(" \r\n", begin) - begin);
  return name == "_global_" ? "" : name;
}

class Composition {
 public:
  Composition(const ReadText& read, HydraChoices& choices) : read_(read), choices_(choices) {}

  Result<void> add(const std::string& text, const std::string& path, const std::string& package,
                   int depth) {
    // What cannot be read is said by the reader that knows lines; behind it nothing throws.
    ERGOMETER_TRY(spec::flatten_yaml(text, path));
    const YAML::Node node = spec::yaml_node(text);
    const YAML::Node list = node.IsMap() ? node["defaults"] : YAML::Node();
    std::vector<Default> items;
    if (list.IsDefined() && list.IsSequence()) items = items_of(list);
    for (const Default& item : items)
      if (item.overrides) choices_.try_emplace(item.group, item.name);
    bool own = false;
    for (const Default& item : items) {
      if (item.overrides) continue;
      if (item.group.empty() && item.name == "_self_") {
        ERGOMETER_TRY(merge(text, path, package));
        own = true;
        continue;
      }
      ERGOMETER_TRY(add_item(item, path, package, depth));
    }
    return own ? Result<void>() : merge(text, path, package);
  }

  spec::FlatYaml values;
  std::set<std::string> used;  ///< groups of the lists

 private:
  Result<void> add_item(const Default& item, const std::string& path, const std::string& package,
                        int depth) {
    constexpr int kDeepest = 12, kMostFiles = 200;
    // Hydra's own: where it logs, how it launches.
    if (item.group.starts_with("hydra/") || item.group == "hydra") return {};
    std::string name = item.name;
    if (const auto chosen = choices_.find(item.group);
        !item.group.empty() && chosen != choices_.end()) {
      name = chosen->second;
      used.insert(item.group);
    }
    if (name.empty() || name == "null" || name == "~") return {};
    if (name == "???")
      return input_error("{}: defaults: {} is left to the command line ({}=NAME)", path, item.group,
                         item.group);
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const bool whole = item.group.starts_with('/');
    const std::string group = whole ? item.group.substr(1) : item.group;
    const std::filesystem::path file =
        (group.empty() ? folder : folder / group) /
        (name.ends_with(".yaml") || name.ends_with(".yml") ? name : name + ".yaml");
    auto text = read_(file.string());
    if (!text && item.optional) return {};
    if (!text || depth > kDeepest || ++files_ > kMostFiles)
      return input_error("{}: defaults: {}{}{} is {}, which is not here; put it beside the file",
                         path, item.group, item.group.empty() ? "" : ": ", name, file.string());
    std::string under = group;
    std::ranges::replace(under, '/', '.');
    if (!item.package.empty()) under = item.package == "_global_" ? "" : item.package;
    if (!package.empty() && item.package != "_global_" && !under.empty())
      under = package + "." + under;
    if (group.empty()) under = package;
    return add(*text, file.string(), item.package.empty() ? package_of(*text, under) : under,
               depth + 1);
  }

  Result<void> merge(const std::string& text, const std::string& path, const std::string& package) {
    const std::string file = std::filesystem::path(path).filename().string();
    ERGOMETER_ASSIGN(const spec::FlatYaml own, spec::flatten_yaml(text, file));
    for (const auto& [key, value] : own) {
      if (key == "defaults" || key.starts_with("defaults.")) continue;
      values[package.empty() ? key : package + "." + key] = {
          value.text, value.line, fmt::format("{}:{}", file, value.line)};
    }
    return {};
  }

  const ReadText& read_;
  HydraChoices& choices_;
  int files_ = 0;
};

}  // namespace

Result<spec::FlatYaml> hydra_defaults(const std::string& text, const std::string& path,
                                      const ReadText& read, HydraChoices& choices) {
  try {
    const YAML::Node node = spec::yaml_node(text);
    if (!node.IsMap() || !node["defaults"].IsDefined()) return spec::FlatYaml();
    Composition composition(read, choices);
    ERGOMETER_TRY(composition.add(text, path, "", 0));
    for (const std::string& group : composition.used) choices.erase(group);
    return std::move(composition.values);
  } catch (const YAML::Exception& error) {
    return input_error("{}: defaults: not read: {}", path, error.msg);
  }
}

}  // namespace ergometer::intake
