#include "spec/cluster/measured_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "spec/catalog/parse_once.h"
#include "spec/cluster/cluster_reader.h"

namespace ergometer::spec {
namespace {

bool decides_times(const ParameterInfo& info) {
  if (info.owner == ParameterOwner::kKernels) return true;
  if (info.owner != ParameterOwner::kGpu) return false;
  constexpr std::array<std::string_view, 7> kOthers = {
      "memory", "tdp", "clock_", "power_cap_", "temperature_", "idle_power", "host_link"};
  return std::ranges::none_of(kOthers, [&](std::string_view other) {
    return other.ends_with('_') ? info.name.starts_with(other) : info.name == other;
  });
}

bool same_times(const Gpu& a, const Gpu& b) {
  if (a.architecture != b.architecture) return false;
  const auto table = parameter_table();
  return std::ranges::all_of(table, [&](const ParameterInfo& info) {
    if (!decides_times(info)) return true;
    const base::Parameter* of_a = a.parameters.find(info.name);
    const base::Parameter* of_b = b.parameters.find(info.name);
    return of_a == nullptr || of_b == nullptr ? of_a == of_b : of_a->value == of_b->value;
  });
}

Result<Gpu> read_entry(std::string_view /*text*/, const std::string& path) {
  const size_t name = path.rfind('/') + 1;
  ERGOMETER_ASSIGN(
      YamlMap map,
      YamlMap::parse(fmt::format("gpu: {}", path.substr(name, path.rfind('.') - name)), path));
  return read_gpu(map, "gpu");
}

}  // namespace

std::string measured_gpu(const Gpu& gpu) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.kind != CatalogKind::kGpu) continue;
    const auto known = parse_once(entry, read_entry);
    if (known && same_times(gpu, *known)) return known->name;
  }
  return {};
}

}  // namespace ergometer::spec
