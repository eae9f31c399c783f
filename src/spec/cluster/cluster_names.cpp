#include "spec/cluster/cluster_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/nearest.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

/// Lower case, cut at everything that is neither letter nor digit: "A100 40 GB" is a100 and 40gb.
std::vector<std::string> words_of_gpu(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (base::is_letter_or_digit(c))
      words.back() += base::lower(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] == "gb" && base::is_digit(words[i - 1].front())) words[i - 1] += words[i];
  return words;
}

/// Whether a part of a name says the word: "h100", "8xh100" and "h100sxm5" all say "h100". A number
/// of GPUs may stand before it, and a word that ends in a digit may go on with a letter.
bool says(std::string_view part, std::string_view word) {
  const size_t count = part.find_first_not_of("0123456789");
  if (count != part.npos && count > 0 && part[count] == 'x') part.remove_prefix(count + 1);
  if (!part.starts_with(word)) return false;
  part.remove_prefix(word.size());
  return part.empty() || (base::is_digit(word.back()) && base::is_letter(part.front()));
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
    const auto stands = [&](const std::string& word) {
      return std::ranges::any_of(words, [&](const auto& part) { return says(part, word); });
    };
    if (std::ranges::all_of(rule.words, stands)) best = &rule;
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
