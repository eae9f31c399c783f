#include <fmt/format.h>

#include <cmath>

#include "base/collection.h"
#include "base/nearest.h"
#include "spec/catalog/read.h"
#include "spec/cluster/cluster_files.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/cluster/measured_gpu.h"
#include "spec/job/job_words.h"

namespace ergometer::spec {
namespace {

using Owners = std::initializer_list<ParameterOwner>;

const ParameterInfo* find_in(Owners owners, std::string_view name) {
  for (const ParameterOwner owner : owners)
    if (const ParameterInfo* info = find_parameter(owner, name)) return info;
  return nullptr;
}

void refuse_unknown(YamlMap& parameters, Owners owners, const std::string& name) {
  std::vector<std::string_view> known;
  for (const ParameterInfo& info : parameter_table())
    if (base::contains(owners, info.owner)) known.push_back(info.name);
  parameters.refuse(name, "is not a known parameter{}", base::did_you_mean(name, known));
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
  auto parameters = map.map("parameters", "a mapping of names to values");
  if (!parameters) return;
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
    map.refuse("parameters", "{} lacks {} ({}{}{})", where, info.name, info.meaning,
               info.unit.empty() ? "" : ", in ", info.unit);
  }
}

namespace {

/// Fans and pumps that a file states for a chassis of so many GPUs (`gpus`), for `node_gpus`.
void size_fans(YamlMap& file, std::string_view prefix, int64_t node_gpus,
               base::ParameterSet& target) {
  const int64_t stated = file.integer("gpus", node_gpus, 1, kMostDomainGpus);
  const std::string name = fmt::format("{}fan_power", prefix);
  const base::Parameter* fans = target.find(name);
  if (fans == nullptr || stated == node_gpus) return;
  base::Parameter sized = *fans;
  sized.value *= static_cast<double>(node_gpus) / static_cast<double>(stated);
  sized.source =
      fmt::format("assumed: by GPUs, {}/{} of the {:g} W that a chassis of {} GPUs takes ({})",
                  node_gpus, stated, fans->value, stated, fans->source);
  sized.grade = base::Grade::kAssumed;
  target.set(name, std::move(sized));
}

/// What a file of nothing but parameters says, the one that `map[key]` names.
Result<void> read_set(YamlMap& map, std::string_view key, CatalogKind kind, ParameterOwner owner,
                      std::string_view prefix, base::ParameterSet& target, std::string& entry,
                      int64_t cooled_gpus = 0) {
  ERGOMETER_ASSIGN(YamlMap file, read_part(map, key, kind, entry));
  if (cooled_gpus > 0)
    file.allow({"name", "aliases", "gpus", "parameters"});
  else
    file.allow({"name", "aliases", "parameters"});
  read_parameters(file, {owner}, prefix, target);
  if (cooled_gpus > 0) size_fans(file, prefix, cooled_gpus, target);
  require_parameters(file, owner, prefix, target, fmt::format("the {}", word_of(kind)));
  if (file.error()) return tl::unexpected(*file.error());
  return {};
}

}  // namespace

Result<void> read_kernels(YamlMap& map, Gpu& gpu) {
  return read_set(map, "kernels", CatalogKind::kKernels, ParameterOwner::kKernels, "",
                  gpu.parameters, gpu.kernels);
}

Result<void> read_power(YamlMap& map, Gpu& gpu) {
  return read_set(map, "power", CatalogKind::kPower, ParameterOwner::kPower, "", gpu.parameters,
                  gpu.power);
}

Result<Gpu> read_gpu(YamlMap& map, std::string_view key) {
  map.require(key);
  if (map.error()) return tl::unexpected(*map.error());
  Gpu gpu;
  ERGOMETER_ASSIGN(YamlMap file, read_part(map, key, CatalogKind::kGpu, gpu.entry));
  file.allow({"name", "aliases", "vendor", "architecture", "kernels", "power", "dies_per_module",
              "parameters"});
  for (const char* required : {"name", "vendor", "architecture", "kernels", "parameters"})
    file.require(required);
  gpu.name = file.text("name");
  gpu.vendor = file.text("vendor");
  gpu.architecture = file.text("architecture");
  gpu.dies_per_module = static_cast<int>(file.integer("dies_per_module", 1, 1, 8));
  if (file.error()) return tl::unexpected(*file.error());
  ERGOMETER_TRY(read_kernels(file, gpu));
  // Without power the GPU runs, but nobody knows what it draws.
  if (file.has("power")) ERGOMETER_TRY(read_power(file, gpu));
  read_parameters(file, {ParameterOwner::kGpu, ParameterOwner::kKernels, ParameterOwner::kPower},
                  "", gpu.parameters);
  require_parameters(file, ParameterOwner::kGpu, "", gpu.parameters, "the GPU");
  if (file.error()) return tl::unexpected(*file.error());
  copy_fields(gpu);
  gpu.measured_as = gpu.entry.empty() ? measured_gpu(gpu) : gpu.name;
  return gpu;
}

Result<void> read_collectives(YamlMap& map, std::string_view key, base::ParameterSet& target,
                              std::string& entry) {
  map.require(key);
  if (map.error()) return tl::unexpected(*map.error());
  return read_set(map, key, CatalogKind::kCollectives, ParameterOwner::kCollectives, "collective.",
                  target, entry);
}

Result<void> read_coolings(YamlMap& map, Node& node) {
  const std::initializer_list<std::string_view> kWays = {
      to_word(Cooling::kAir), to_word(Cooling::kLiquid), to_word(Cooling::kImmersion)};
  node.cooling = static_cast<Cooling>(map.choice("cooling", kWays, static_cast<int>(node.cooling)));
  auto coolings = map.map("coolings", "a mapping of air, liquid, immersion to names");
  if (map.error()) return tl::unexpected(*map.error());
  if (!coolings) return {};
  coolings->allow(kWays);
  const std::string_view built = to_word(node.cooling);
  // A node that extends another may have it from there.
  const bool known = node.parameters.has(fmt::format("cooling.{}.inlet", built));
  if (!known && !coolings->has(built))
    map.refuse("coolings",
               "lack {}, which cools the node as built; name it here, or say cooling: {}", built,
               fmt::join(coolings->keys(), " or "));
  for (const std::string_view way : kWays) {
    if (map.error()) return tl::unexpected(*map.error());
    if (!coolings->has(way)) continue;
    std::string ignored;
    ERGOMETER_TRY(read_set(*coolings, way, CatalogKind::kCooling, ParameterOwner::kCooling,
                           fmt::format("cooling.{}.", way), node.parameters, ignored, node.gpus));
  }
  return {};
}

}  // namespace ergometer::spec
