#include "spec/cluster/cluster_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/collection.h"
#include "base/csv.h"
#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

/// Lower case, cut at everything that is neither letter nor digit.
std::vector<std::string> words_of_gpu(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (base::is_letter_or_digit(c))
      words.back() += base::lower(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

struct GpuNameRule {
  std::vector<std::string> words;
  NodeOfGpu means;
};

const std::vector<GpuNameRule>& gpu_name_rules() {
  static const base::CsvTable table = catalog_table("gpu_names", base::parse_csv);
  static const std::vector<GpuNameRule> rules = [] {
    std::vector<GpuNameRule> result;
    for (size_t row = 0; row < table.rows.size(); ++row)
      result.push_back({words_of_gpu(table.cell(row, "words")),
                        {table.cell(row, "node"), table.cell(row, "certain") == "yes"}});
    return result;
  }();
  return rules;
}

}  // namespace

std::optional<NodeOfGpu> node_of_gpu(std::string_view gpu) {
  const std::vector<std::string> words = words_of_gpu(gpu);
  const GpuNameRule* best = nullptr;
  for (const GpuNameRule& rule : gpu_name_rules()) {
    if (best != nullptr && rule.words.size() <= best->words.size()) continue;
    if (std::ranges::all_of(rule.words, [&](const auto& it) { return base::contains(words, it); }))
      best = &rule;
  }
  if (best == nullptr || best->means.node.empty()) return std::nullopt;
  return best->means;
}

const CatalogEntry* find_cluster(std::string_view name) {
  for (const CatalogKind kind : {CatalogKind::kCluster, CatalogKind::kNode})
    if (const CatalogEntry* entry = find_in_catalog(kind, name)) return entry;
  return nullptr;
}

std::optional<std::string_view> nearest_cluster(std::string_view name) {
  std::vector<std::string_view> names = catalog_names(CatalogKind::kCluster);
  for (const std::string_view node : catalog_names(CatalogKind::kNode)) names.push_back(node);
  if (const auto near = base::nearest(name, names)) return near;
  const auto named = node_of_gpu(name);
  return named ? std::optional(named->node) : std::nullopt;
}

}  // namespace ergometer::spec
