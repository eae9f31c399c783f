#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "spec/job/cluster.h"
#include "spec/job/model.h"

namespace ergometer::spec {

/// A job, a cluster, a framework's configuration: what people write, far above the longest of them.
inline constexpr size_t kLargestWritten = 4 << 20;

/// A catalog name, a Hugging Face config.json, or a folder that holds one.
Result<Model> read_model(const std::string& name_or_path);
Result<Model> parse_model(std::string_view json, const std::string& file);
/// The file that is meant by a path: itself, or the config.json in a folder.
Result<std::string> find_model_file(const std::string& path);

/// A catalog name (cluster or node kind) or a YAML file.
Result<Cluster> read_cluster(const std::string& name_or_path);
Result<Cluster> parse_cluster(std::string_view yaml, const std::string& file);

/// The catalog's files are embedded in the program.
enum class CatalogKind {
  kModel,
  kGpu,
  kNode,
  kCluster,
  kKernels,
  kPower,
  kCooling,
  kCollectives,
  kSoftware,
  kRecipe,
  kStudy,
  kTable
};
struct CatalogEntry {
  CatalogKind kind;
  std::string name;       ///< file name without extension, lower case
  std::string_view text;  ///< the file
  std::string_view path;  ///< for messages: "catalog/models/llama3-70b.json"
};
const std::vector<CatalogEntry>& catalog();
/// By name or alias, upper or lower case; null when there is none.
const CatalogEntry* find_in_catalog(CatalogKind kind, std::string_view name);
/// The file's `aliases` list, found by a scan of the text: nothing is parsed.
std::vector<std::string_view> aliases_of(const CatalogEntry& entry);
/// Names and aliases of one kind, for suggestions.
std::vector<std::string_view> catalog_names(CatalogKind kind);

/// A table of the catalog as `parse(text, path)` reads it. It is there and in order: the program's
/// own file, not a user's.
template <class Table>
Table catalog_table(std::string_view name,
                    Result<Table> (*parse)(std::string_view, const std::string&)) {
  const CatalogEntry* entry = find_in_catalog(CatalogKind::kTable, name);
  ERGOMETER_CHECK(entry != nullptr, "the catalog has each of its tables");
  Result<Table> table = parse(entry->text, std::string(entry->path));
  ERGOMETER_CHECK(table.has_value(), "the catalog's tables can be read");
  return *std::move(table);
}

}  // namespace ergometer::spec
