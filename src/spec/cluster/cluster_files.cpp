#include "spec/cluster/cluster_files.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "spec/collective/given_algorithms.h"
#include "spec/collective/read_msccl.h"

namespace ergometer::spec {
namespace {

using Kinds = std::vector<CatalogKind>;

constexpr int kDeepestParts = 16;

/// The kinds of part that the word under `key` may name; none for any other key.
Kinds kinds_under(std::string_view key) {
  const std::array<std::pair<std::string_view, Kinds>, 7> kKeys = {
      {{"extends", {CatalogKind::kCluster, CatalogKind::kNode}},
       {"node", {CatalogKind::kNode}},
       {"gpu", {CatalogKind::kGpu}},
       {"kernels", {CatalogKind::kKernels}},
       {"power", {CatalogKind::kPower}},
       {"collectives", {CatalogKind::kCollectives}},
       {"intra_collectives", {CatalogKind::kCollectives}}}};
  for (const auto& [known, kinds] : kKeys)
    if (known == key) return kinds;
  return {};
}

const CatalogEntry* find_entry(std::string_view name, std::span<const CatalogKind> kinds) {
  for (const CatalogKind kind : kinds)
    if (const CatalogEntry* entry = find_in_catalog(kind, name)) return entry;
  return nullptr;
}

std::string in_folder_of(const std::string& path, const std::string& file) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_path(std::string_view word) {
  return word.find('/') != word.npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

std::string not_found(const std::string& name, const std::string& path,
                      std::span<const CatalogKind> kinds) {
  if (is_path(name)) return fmt::format("found \"{}\"; there is no file {}", name, path);
  std::vector<std::string_view> names;
  for (const CatalogKind kind : kinds)
    for (const std::string_view known : catalog_names(kind)) names.push_back(known);
  const auto near = base::nearest(name, names);
  return fmt::format("found \"{}\"; allowed: a {} of the catalog{}, a file, or a mapping", name,
                     word_of(kinds.front()), near ? fmt::format(" (did you mean {}?)", *near) : "");
}

/// Calls `visit(word, kinds)` for every word that names a part; a collective's algorithm is of no
/// kind.
template <class Visit>
void each_part(nlohmann::json& map, const Visit& visit) {
  for (auto& [key, value] : map.items()) {
    if (key == kGivenAlgorithms && value.is_string()) visit(value, Kinds{});
    if (key == kGivenAlgorithms && value.is_array())
      for (auto& word : value)
        if (word.is_string()) visit(word, Kinds{});
    if (const Kinds kinds = kinds_under(key); value.is_string() && !kinds.empty())
      visit(value, kinds);
    else if (key == "coolings" && value.is_object())
      for (auto& way : value)
        if (way.is_string()) visit(way, Kinds{CatalogKind::kCooling});
    if (value.is_object()) each_part(value, visit);
    if (key == "groups" && value.is_array())
      for (auto& group : value)
        if (group.is_object()) each_part(group, visit);
  }
}

/// The path of the user's file that `word` names, empty where it is the catalog's or nobody's.
std::string users_file(const std::string& word, const Kinds& kinds, const std::string& file) {
  if (is_inline_algorithm(word)) return {};
  if (find_entry(word, kinds) != nullptr) return {};
  std::string path = in_folder_of(word, file);
  return is_file(path) ? path : std::string();
}

Result<nlohmann::json> inline_tree(std::string_view yaml, const std::string& file, int depth) {
  if (depth > kDeepestParts)
    return input_error("{}: files name each other more than {} deep", file, kDeepestParts);
  ERGOMETER_ASSIGN(const YamlMap map, YamlMap::parse(yaml, file));
  nlohmann::json tree = nlohmann::json::parse(map.as_json());
  std::optional<base::Error> error;
  each_part(tree, [&](nlohmann::json& word, const Kinds& kinds) {
    const std::string path = users_file(word.get<std::string>(), kinds, file);
    if (path.empty() || error) return;
    auto part = base::read_file(path, kinds.empty() ? kLargestAlgorithm : kLargestWritten)
                    .and_then([&](const std::string& text) -> Result<nlohmann::json> {
                      if (kinds.empty()) return text;
                      return inline_tree(text, path, depth + 1);
                    });
    if (part)
      word = *std::move(part);
    else
      error = part.error();
  });
  if (error) return tl::unexpected(*error);
  return tree;
}

}  // namespace

std::string_view word_of(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::kGpu: return "GPU";
    case CatalogKind::kNode: return "node";
    case CatalogKind::kCluster: return "cluster";
    case CatalogKind::kKernels: return "set of kernel parameters";
    case CatalogKind::kPower: return "set of power parameters";
    case CatalogKind::kCooling: return "set of cooling parameters";
    case CatalogKind::kCollectives: return "set of collective parameters";
    default: return "entry";
  }
}

Result<ClusterPart> find_part(YamlMap& map, std::string_view key,
                              std::initializer_list<CatalogKind> kinds) {
  const std::string name = map.text(key);
  if (map.error()) return tl::unexpected(*map.error());
  if (const CatalogEntry* entry = find_entry(name, kinds))
    return ClusterPart{entry->name, std::string(entry->path), std::string(entry->text)};
  const std::string path = in_folder_of(name, map.file());
  if (name.empty() || !is_file(path)) {
    map.refuse(key, not_found(name, path, kinds));
    return tl::unexpected(*map.error());
  }
  ERGOMETER_ASSIGN(std::string text, base::read_file(path, kLargestWritten));
  return ClusterPart{"", path, std::move(text)};
}

Result<YamlMap> read_part(YamlMap& map, std::string_view key, CatalogKind kind,
                          std::string& entry) {
  entry.clear();
  if (auto inner = map.map(key)) return *inner;
  ERGOMETER_ASSIGN(const ClusterPart part, find_part(map, key, {kind}));
  entry = part.entry;
  return YamlMap::parse(part.text, part.path);
}

std::string relocated_part(std::string_view key, const std::string& word, const std::string& file) {
  const Kinds kinds = kinds_under(key);
  const std::string path = kinds.empty() ? std::string() : users_file(word, kinds, file);
  return path.empty() ? word : path;
}

std::string relocated_parts(const std::string& json, const std::string& file) {
  nlohmann::json tree = nlohmann::json::parse(json, nullptr, false);
  if (!tree.is_object()) return json;
  each_part(tree, [&](nlohmann::json& word, const Kinds& kinds) {
    const std::string path = users_file(word.get<std::string>(), kinds, file);
    if (!path.empty()) word = path;
  });
  return base::json_line(tree);
}

Result<std::string> with_parts_inline(std::string_view yaml, const std::string& file) {
  ERGOMETER_ASSIGN(const nlohmann::json tree, inline_tree(yaml, file, 0));
  return base::json_line(tree);
}

}  // namespace ergometer::spec
