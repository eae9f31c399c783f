#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "spec/cluster_reader.h"
#include "spec/read.h"

namespace ergometer::spec {
namespace {

using base::Result;

std::string_view folder_of(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::kGpu: return "GPU";
    case CatalogKind::kNode: return "node";
    case CatalogKind::kKernels: return "set of kernel parameters";
    case CatalogKind::kPower: return "set of power parameters";
    case CatalogKind::kCooling: return "set of cooling parameters";
    case CatalogKind::kCollectives: return "set of collective parameters";
    default: return "entry";
  }
}

/// The mapping under `key`, or the catalog file that its word names.
Result<YamlMap> referenced(YamlMap& map, std::string_view key, CatalogKind kind) {
  if (auto inner = map.map(key)) return *inner;
  const std::string name = map.text(key);
  if (const CatalogEntry* entry = find_in_catalog(kind, name))
    return YamlMap::parse(entry->text, std::string(entry->path));
  const std::vector<std::string_view> names = catalog_names(kind);
  const auto near = base::nearest(name, names);
  map.refuse(
      key,
      fmt::format("found \"{}\"; allowed: a {} of the catalog{}, or a mapping in its form", name,
                  folder_of(kind), near ? fmt::format(" (did you mean {}?)", *near) : ""));
  return tl::unexpected(*map.error());
}

/// The catalog file that the word under `key` names; empty for a mapping.
std::string entry_name(YamlMap& map, std::string_view key, CatalogKind kind) {
  if (map.map(key)) return {};
  const CatalogEntry* entry = find_in_catalog(kind, map.text(key));
  return entry == nullptr ? std::string() : entry->name;
}

using Owners = std::initializer_list<ParameterOwner>;

const ParameterInfo* find_in(Owners owners, std::string_view name) {
  for (const ParameterOwner owner : owners)
    if (const ParameterInfo* info = find_parameter(owner, name)) return info;
  return nullptr;
}

void refuse_unknown(YamlMap& parameters, Owners owners, const std::string& name) {
  std::vector<std::string_view> known;
  for (const ParameterInfo& info : parameter_table())
    if (std::find(owners.begin(), owners.end(), info.owner) != owners.end())
      known.push_back(info.name);
  const auto near = base::nearest(name, known);
  parameters.refuse(name, fmt::format("is not a known parameter{}",
                                      near ? fmt::format("; did you mean {}?", *near) : ""));
}

}  // namespace

void copy_fields(Gpu& gpu) {
  const base::ParameterSet& p = gpu.parameters;
  gpu.sms = std::llround(p.at("sm_count"));
  gpu.memory_bytes = p.at("memory");
  gpu.memory_bytes_per_s = p.at("memory_bandwidth");
  gpu.boost_clock_hz = p.at("boost_clock");
  gpu.sustained_clock_hz = p.at("sustained_clock");
  gpu.peak_bf16_flops_per_s = p.value_or("peak_bf16", 0);
}

void read_parameters(YamlMap& map, Owners owners, std::string_view prefix,
                     base::ParameterSet& target) {
  auto parameters = map.map("parameters");
  if (!parameters) {
    if (map.has("parameters"))
      map.refuse("parameters", "found a word; allowed: a mapping of names to values");
    return;
  }
  for (const std::string& name : parameters->keys()) {
    const ParameterInfo* info = find_in(owners, name);
    if (info == nullptr)
      refuse_unknown(*parameters, owners, name);
    else
      target.set(std::string(prefix) + name,
                 parameters->parameter(name, info->unit, info->min, info->max));
  }
}

void require_parameters(YamlMap& map, ParameterOwner owner, std::string_view prefix,
                        const base::ParameterSet& parameters, std::string_view where) {
  for (const ParameterInfo& info : parameter_table()) {
    if (info.owner != owner || !info.required ||
        parameters.has(std::string(prefix) + std::string(info.name)))
      continue;
    map.refuse("parameters", fmt::format("{} lacks {} ({}{}{})", where, info.name, info.meaning,
                                         info.unit.empty() ? "" : ", in ", info.unit));
  }
}

namespace {

/// `gpu["power"]`, where the file names one: without it the GPU runs, but nobody knows what it
/// draws.
Result<void> read_power(YamlMap& file, Gpu& gpu) {
  if (!file.has("power")) return {};
  gpu.power = entry_name(file, "power", CatalogKind::kPower);
  ERGOMETER_ASSIGN(YamlMap power, referenced(file, "power", CatalogKind::kPower));
  power.allow({"name", "aliases", "parameters"});
  read_parameters(power, {ParameterOwner::kPower}, "", gpu.parameters);
  require_parameters(power, ParameterOwner::kPower, "", gpu.parameters,
                     "the set of power parameters");
  if (power.error()) return tl::unexpected(*power.error());
  return {};
}

}  // namespace

Result<Gpu> read_gpu(YamlMap& map, std::string_view key) {
  map.require(key);
  if (map.error()) return tl::unexpected(*map.error());
  ERGOMETER_ASSIGN(YamlMap file, referenced(map, key, CatalogKind::kGpu));
  file.allow({"name", "aliases", "vendor", "architecture", "kernels", "power", "dies_per_module",
              "parameters"});
  for (const char* required : {"name", "vendor", "architecture", "kernels", "parameters"})
    file.require(required);
  Gpu gpu;
  gpu.entry = entry_name(map, key, CatalogKind::kGpu);
  gpu.kernels = entry_name(file, "kernels", CatalogKind::kKernels);
  gpu.name = file.text("name");
  gpu.vendor = file.text("vendor");
  gpu.architecture = file.text("architecture");
  gpu.dies_per_module = static_cast<int>(file.integer("dies_per_module", 1, 1, 8));
  if (file.error()) return tl::unexpected(*file.error());
  ERGOMETER_ASSIGN(YamlMap kernels, referenced(file, "kernels", CatalogKind::kKernels));
  kernels.allow({"name", "aliases", "parameters"});
  read_parameters(kernels, {ParameterOwner::kKernels}, "", gpu.parameters);
  ERGOMETER_TRY(read_power(file, gpu));
  read_parameters(file, {ParameterOwner::kGpu, ParameterOwner::kKernels, ParameterOwner::kPower},
                  "", gpu.parameters);
  require_parameters(file, ParameterOwner::kGpu, "", gpu.parameters, "the GPU");
  require_parameters(kernels, ParameterOwner::kKernels, "", gpu.parameters,
                     "the set of kernel parameters");
  if (kernels.error()) return tl::unexpected(*kernels.error());
  if (file.error()) return tl::unexpected(*file.error());
  copy_fields(gpu);
  return gpu;
}

Result<void> read_collectives(YamlMap& map, std::string_view key, base::ParameterSet& target,
                              std::string& entry) {
  map.require(key);
  if (map.error()) return tl::unexpected(*map.error());
  entry = entry_name(map, key, CatalogKind::kCollectives);
  ERGOMETER_ASSIGN(YamlMap file, referenced(map, key, CatalogKind::kCollectives));
  file.allow({"name", "aliases", "parameters"});
  read_parameters(file, {ParameterOwner::kCollectives}, "collective.", target);
  require_parameters(file, ParameterOwner::kCollectives, "collective.", target,
                     "the set of collective parameters");
  if (file.error()) return tl::unexpected(*file.error());
  return {};
}

Result<void> read_coolings(YamlMap& map, Node& node) {
  const std::initializer_list<std::string_view> kWays = {"air", "liquid", "immersion"};
  node.cooling = static_cast<Cooling>(map.choice("cooling", kWays, 0));
  auto coolings = map.map("coolings");
  if (!coolings && map.has("coolings"))
    map.refuse("coolings", "found a word; allowed: a mapping of air, liquid, immersion to names");
  if (map.error()) return tl::unexpected(*map.error());
  if (!coolings) return {};
  coolings->allow(kWays);
  const std::string_view built = kWays.begin()[static_cast<int>(node.cooling)];
  if (!coolings->has(built))
    map.refuse("coolings", fmt::format("lack {}, which cools the node as built; name it here, or "
                                       "say cooling: {}",
                                       built, fmt::join(coolings->keys(), " or ")));
  for (const std::string_view way : kWays) {
    if (map.error()) return tl::unexpected(*map.error());
    if (!coolings->has(way)) continue;
    ERGOMETER_ASSIGN(YamlMap file, referenced(*coolings, way, CatalogKind::kCooling));
    file.allow({"name", "aliases", "parameters"});
    const std::string prefix = fmt::format("cooling.{}.", way);
    read_parameters(file, {ParameterOwner::kCooling}, prefix, node.parameters);
    require_parameters(file, ParameterOwner::kCooling, prefix, node.parameters,
                       "the set of cooling parameters");
    if (file.error()) return tl::unexpected(*file.error());
  }
  return {};
}

}  // namespace ergometer::spec
