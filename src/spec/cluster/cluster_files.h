#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/catalog/read.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {

// A cluster is written in parts: a node, its GPU, kernels, power, collectives, ways of cooling.
// Wherever the catalog's files hold the name of another one, a user's may hold the path of a file
// of their own, which starts from the folder of the file that it stands in.

/// "GPU", "set of cooling parameters": for messages.
std::string_view word_of(CatalogKind kind);

/// What a part's word means.
struct ClusterPart {
  std::string entry;  ///< the catalog entry's name; empty for a user's file
  std::string path;   ///< for messages: "catalog/gpus/a40.yaml", "hardware/b100.yaml"
  std::string text;
};

/// The part that `map[key]` names: an entry of one of `kinds`, or a file. The error names the
/// nearest entry.
Result<ClusterPart> find_part(YamlMap& map, std::string_view key,
                              std::initializer_list<CatalogKind> kinds);

/// The mapping under `key`, or that of the part which its word names; `entry` becomes the catalog
/// entry's name, empty for what is the user's.
Result<YamlMap> read_part(YamlMap& map, std::string_view key, CatalogKind kind, std::string& entry);

/// The word under `key`, written in `file`, with a path that starts from the working directory.
std::string relocated_part(std::string_view key, const std::string& word, const std::string& file);

/// The cluster `json`, written in `file` or beside it, with paths that start from the working
/// directory.
std::string relocated_parts(const std::string& json, const std::string& file);

/// The same with the user's files' own mappings in their places, so that no file is needed to read
/// it. The cluster may be YAML.
Result<std::string> with_parts_inline(std::string_view yaml, const std::string& file);

}  // namespace ergometer::spec
