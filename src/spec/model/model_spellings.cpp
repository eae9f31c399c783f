#include "spec/model/model_spellings.h"

#include <map>

#include "base/collection.h"
#include "base/csv.h"
#include "base/text.h"

namespace ergometer::spec {
namespace {

constexpr size_t kMostSpellings = 48;

/// What a key may begin with, and what the same may be called.
struct Respelling {
  std::string_view from, to;
};

const std::vector<Respelling>& respellings() {
  static const base::CsvTable table = catalog_table("model_spellings", base::parse_csv);
  static const std::vector<Respelling> all = [] {
    std::vector<Respelling> result;
    for (size_t row = 0; row < table.rows.size(); ++row)
      result.push_back({table.cell(row, "from"), table.cell(row, "to")});
    return result;
  }();
  return all;
}

/// NeMo's classes spell 1.5 B "1P5B".
std::string with_points(std::string key) {
  for (size_t i = 1; i + 1 < key.size(); ++i)
    if (key[i] == 'p' && base::is_digit(key[i - 1]) && base::is_digit(key[i + 1])) key[i] = '.';
  return key;
}

/// And put their "Config" in the middle: Llama3Config8B.
std::string without_config(std::string key) {
  constexpr std::string_view kConfig = "config";
  for (size_t at = key.find(kConfig); at != key.npos; at = key.find(kConfig))
    key.erase(at, kConfig.size());
  return key;
}

}  // namespace

std::vector<std::string> model_spellings(std::string_view key) {
  std::vector<std::string> result = {std::string(key)};
  const auto add = [&](std::string spelling) {
    if (!base::contains(result, spelling) && result.size() < kMostSpellings)
      result.push_back(std::move(spelling));
  };
  add(with_points(result.front()));
  add(without_config(result.back()));
  // Each respelling may open the way for another.
  for (size_t i = 0; i < result.size() && result.size() < kMostSpellings; ++i)
    for (const Respelling& it : respellings())
      if (result[i].starts_with(it.from) &&
          !(it.to.starts_with(it.from) && result[i].starts_with(it.to)))
        add(std::string(it.to) + result[i].substr(it.from.size()));
  return result;
}

const CatalogEntry* find_squashed_model(std::string_view key) {
  static const auto keys = [] {
    std::map<std::string, const CatalogEntry*, std::less<>> result;
    for (const CatalogEntry& entry : catalog()) {
      if (entry.kind != CatalogKind::kModel) continue;
      result.emplace(base::squashed(entry.name), &entry);
      for (const std::string_view alias : aliases_of(entry))
        result.emplace(base::squashed(alias), &entry);
    }
    return result;
  }();
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : found->second;
}

}  // namespace ergometer::spec
