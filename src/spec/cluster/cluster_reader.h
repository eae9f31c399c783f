#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "spec/cluster/parameter_table.h"
#include "spec/job/cluster.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {

inline constexpr double kSlowestLink = 1e6, kFastestLink = 1e15;  ///< bytes per second
inline constexpr int64_t kMostNodes = 10'000'000, kMostDomainGpus = 1024;

/// Reads `map["parameters"]` into `target`, each name with `prefix` in front. Names, units and
/// ranges are those of the parameter table for the first of `owners` that has the name: a GPU's
/// file may also say what its kernels' and its power's files do.
void read_parameters(YamlMap& map, std::initializer_list<ParameterOwner> owners,
                     std::string_view prefix, base::ParameterSet& target);
/// Refuses a `where` that lacks a required parameter of `owner`.
void require_parameters(YamlMap& map, ParameterOwner owner, std::string_view prefix,
                        const base::ParameterSet& parameters, std::string_view where);

/// Copies the fields of a GPU that stand in its parameters too: after a parameter was changed.
void copy_fields(Gpu& gpu);

/// `map[key]` is a GPU's catalog name or an inline mapping in the form of catalog/gpus.
Result<Gpu> read_gpu(YamlMap& map, std::string_view key);
/// `map["kernels"]` and `map["power"]` are names or mappings of catalog/kernels and catalog/power;
/// what they say goes into the GPU's parameters, over what is there.
Result<void> read_kernels(YamlMap& map, Gpu& gpu);
Result<void> read_power(YamlMap& map, Gpu& gpu);
Result<Node> read_node_body(YamlMap& map);
/// `map["pcie"]`, what the node's GPUs and NICs hang on, into the node's parameters; not required.
void read_pcie(YamlMap& map, Node& node);
/// `map[key]` is the name of a file of catalog/collectives or an inline mapping in that form.
/// The file's name goes to `entry`; inline, `entry` becomes empty.
Result<void> read_collectives(YamlMap& map, std::string_view key, base::ParameterSet& target,
                              std::string& entry);
/// `cooling`, how the node is built, and `coolings`, the ways to cool it: each the name of a file
/// of catalog/cooling or an inline mapping in that form. Neither is required.
Result<void> read_coolings(YamlMap& map, Node& node);
Result<Fabric> read_fabric(YamlMap& map);
/// Of `read_fabric`: the keys that a fabric of this kind may have, and how one without a tree of
/// switches is wired, or into how many planes one with is divided.
void allow_fabric_keys(YamlMap& map, FabricKind kind);
void read_topology(YamlMap& map, Fabric& fabric);
/// Refuses domains of fast links that are no whole nodes.
void check_domain(YamlMap& map, const Cluster& cluster);
/// Refuses a cluster whose nodes its network has no places for; one that says no number of nodes
/// has as many as there are places.
void fit_topology(YamlMap& map, Cluster& cluster);
/// The `groups` of a cluster file: a list of {node, nodes}. Neighbours of the same kind are one
/// group; of one kind alone it is the plain cluster.
Result<Cluster> read_groups(YamlMap& map);
/// A node as a cluster: a name of the catalog, a file or a mapping under `map["node"]`.
Result<Cluster> node_of_cluster(YamlMap& map);
/// A cluster that is another one (`extends`: a name, a file, a mapping in any form) but for a few
/// numbers. `depth` counts how many such lie in each other.
Result<Cluster> extended_cluster(YamlMap& map, int depth);

}  // namespace ergometer::spec
