#include "spec/cluster/cluster_factors.h"

#include <algorithm>

#include "base/collection.h"
#include "base/text.h"
#include "spec/cluster/cluster_reader.h"
#include "spec/cluster/parameter_table.h"

namespace ergometer::spec {
namespace {

using FactorParameters = std::array<std::string_view, 6>;

constexpr ClusterFactor time_factor(FactorPlace place, std::string_view name,
                                    std::string_view meaning, double sigma, double farthest,
                                    const FactorParameters& parameters) {
  return {name, meaning, place, true, sigma, farthest, parameters};
}
constexpr ClusterFactor power_factor(FactorPlace place, std::string_view name,
                                     std::string_view meaning, double sigma, double farthest,
                                     const FactorParameters& parameters) {
  return {name, meaning, place, false, sigma, farthest, parameters};
}

// Deviations and bounds are assumed: about what the catalog's fits leave of rates (+-4 to 14 %),
// what hosts differ by (a factor of two), what boards draw and coolers carry more or less.
constexpr std::array kFactors = std::to_array<ClusterFactor>({
    time_factor(FactorPlace::kGpu, "gemm", "rate of matrix products", 0.10, 0.7,
                {"gemm.efficiency", "gemm.fp8_efficiency", "gemm.fp4_efficiency",
                 "gemm.memory_efficiency"}),
    time_factor(FactorPlace::kGpu, "grouped", "rate of grouped products", 0.15, 0.7,
                {"grouped.efficiency"}),
    time_factor(FactorPlace::kGpu, "attention", "rate of attention", 0.15, 0.7,
                {"attention.forward", "attention.backward"}),
    time_factor(FactorPlace::kGpu, "memory", "rate of memory-bound kernels", 0.15, 0.9,
                {"memory.efficiency", "memory.cross_entropy", "memory.permute", "memory.issue"}),
    time_factor(FactorPlace::kNode, "host", "time of the host to launch", 0.40, 1.4,
                {"host.factor"}),
    time_factor(FactorPlace::kNode, "node links", "rate of the links in the node", 0.10, 0.7,
                {"ring_bandwidth", "half_ring_bandwidth", "pair_ring_bandwidth", "pair_bandwidth",
                 "all_to_all_bandwidth", "in_switch_bandwidth"}),
    time_factor(FactorPlace::kFabric, "network", "rate of the links between nodes", 0.15, 0.7,
                {"line_efficiency", "all_to_all_line_efficiency"}),
    power_factor(FactorPlace::kGpu, "work energy", "energy of the work", 0.10, 0.7,
                 {"power.tensor_fp16", "power.tensor_fp8", "power.vector", "power.cache",
                  "power.memory", "power.link"}),
    power_factor(FactorPlace::kGpu, "idle power", "power without work", 0.15, 0.7,
                 {"power.constant", "power.constant_memory", "power.leakage", "power.active"}),
    power_factor(FactorPlace::kCooling, "heat resistance", "resistance from die to coolant", 0.25,
                 1.4,
                 {"die_resistance", "spreader_resistance", "sink_resistance", "film_resistance"}),
    power_factor(FactorPlace::kCooling, "coolant", "temperature of the coolant", 0.20, 0.7,
                 {"inlet"}),
});

const ParameterInfo* info_of(std::string_view name) {
  for (const ParameterInfo& info : parameter_table())
    if (info.name == name) return &info;
  return nullptr;
}

base::ParameterSet& set_of(Cluster& cluster, FactorPlace place) {
  if (place == FactorPlace::kGpu) return cluster.node.gpu.parameters;
  return place == FactorPlace::kFabric ? cluster.fabric.parameters : cluster.node.parameters;
}

std::string_view prefix_of(const std::string& name) {
  for (const std::string_view prefix :
       {"collective.", "cooling.air.", "cooling.liquid.", "cooling.immersion."})
    if (name.starts_with(prefix)) return prefix;
  return "";
}

void read_row(YamlMap& covariance, const std::string& name, ClusterEvidence& evidence) {
  if (find_cluster_factor(name) == nullptr)
    return covariance.refuse(name, "is no factor of a cluster; docs/guide/twin.md lists them");
  std::vector<double> row;
  for (const std::string& word : covariance.texts(name)) {
    const auto number = base::parse_number(word);
    if (!number) return covariance.refuse(name, "found \"{}\"; allowed: numbers", word);
    row.push_back(*number);
  }
  evidence.factors.push_back(name);
  evidence.covariance.push_back(std::move(row));
}

/// Every row as long as its number, variances at least 0, and no correlation beyond 1.
bool is_covariance(const std::vector<std::vector<double>>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != i + 1 || !(rows[i][i] >= 0 && rows[i][i] <= 100)) return false;
    for (size_t j = 0; j < i; ++j)
      if (!(rows[i][j] * rows[i][j] <= rows[i][i] * rows[j][j] * 1.001)) return false;
  }
  return true;
}

}  // namespace

std::span<const ClusterFactor> cluster_factors() { return kFactors; }

const ClusterFactor* find_cluster_factor(std::string_view name) {
  for (const ClusterFactor& factor : kFactors)
    if (factor.name == name) return &factor;
  return nullptr;
}

bool moves(const ClusterFactor& factor, std::string_view parameter) {
  return !parameter.empty() && base::contains(factor.parameters, parameter);
}

void scale(Cluster& cluster, const ClusterFactor& factor, double by) {
  base::ParameterSet& set = set_of(cluster, factor.place);
  if (factor.name == "host" && !set.has("host.factor"))
    set.set("host.factor", {1, "", "the software's own measurements", base::Grade::kAssumed});
  const base::ParameterSet before = set;
  for (const auto& [name, parameter] : before.all()) {
    const std::string_view plain = std::string_view(name).substr(prefix_of(name).size());
    const ParameterInfo* info = moves(factor, plain) ? info_of(plain) : nullptr;
    if (info == nullptr || parameter.value == 0) continue;
    base::Parameter moved = parameter;
    moved.value = std::clamp(parameter.value * by, info->min, info->max);
    set.set(name, std::move(moved));
  }
  copy_fields(cluster.node.gpu);
}

ClusterEvidence read_evidence(YamlMap map) {
  map.allow({"job", "software", "precision", "kind", "gpus", "nodes", "form", "covariance"});
  for (const char* key : {"software", "precision", "kind", "gpus", "nodes", "form", "covariance"})
    map.require(key);
  ClusterEvidence evidence;
  evidence.job = map.text("job");
  evidence.software = map.text("software");
  evidence.precision = map.text("precision");
  evidence.kind = map.text("kind");
  evidence.gpus = map.integer("gpus", 1, 1, kMostNodes);
  evidence.nodes = map.integer("nodes", 1, 1, kMostNodes);
  evidence.form = map.real("form", 0, 0, 1);
  auto covariance = map.map("covariance");
  if (!covariance) {
    map.refuse("covariance", "allowed: a mapping of factors to rows of numbers");
    return evidence;
  }
  for (const std::string& name : covariance->keys()) read_row(*covariance, name, evidence);
  if (!map.error() && !is_covariance(evidence.covariance))
    map.refuse("covariance",
               "is no lower triangle of a covariance; allowed: as many numbers a row as rows so "
               "far, variances from 0 to 100, no correlation beyond 1");
  return evidence;
}

}  // namespace ergometer::spec
