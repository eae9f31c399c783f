#pragma once

#include <optional>
#include <string_view>

#include "spec/catalog/read.h"

namespace ergometer::spec {

/// The catalog's node for a GPU as its driver, a framework or a person spells it.
struct NodeOfGpu {
  std::string_view node;
  bool certain = false;  ///< no: the name leaves open which of several boards it is
};

/// "NVIDIA H100 80GB HBM3" is hgx-h100, "AMD Instinct MI300X" mi300x; nothing for a board that the
/// catalog has not ("NVIDIA H200 NVL"). By catalog/tables/gpu_names.csv: of the lines whose words
/// all stand in the name, the one of most words, and of several the first.
std::optional<NodeOfGpu> node_of_gpu(std::string_view gpu);

/// What `--cluster` takes of the catalog: a cluster, or a node as a cluster of its kind. Null when
/// there is none.
const CatalogEntry* find_cluster(std::string_view name);

/// The one of these that is spelled most like the name, or whose GPU it is the name of.
std::optional<std::string_view> nearest_cluster(std::string_view name);

}  // namespace ergometer::spec
