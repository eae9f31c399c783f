#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "spec/job/cluster.h"
#include "spec/yaml/yaml_map.h"

namespace ergometer::spec {

/// Which of a cluster's sets of parameters a factor stands in.
enum class FactorPlace : uint8_t { kGpu, kNode, kFabric, kCooling };

/// One degree of freedom of a cluster: numbers of the catalog that a recording of a job cannot tell
/// apart, moved together by one factor.
struct ClusterFactor {
  std::string_view name;     ///< "gemm"
  std::string_view meaning;  ///< "rate of matrix products"
  FactorPlace place;
  bool moves_time;  ///< else power or temperature alone
  double sigma;     ///< of the factor's logarithm: how far off the catalog may be (assumed)
  double farthest;  ///< of the same: as far as a fit goes
  std::array<std::string_view, 6> parameters;  ///< empty ones behind
};
std::span<const ClusterFactor> cluster_factors();
const ClusterFactor* find_cluster_factor(std::string_view name);
/// Whether a parameter, without "collective." or "cooling.air." in front, moves with the factor.
bool moves(const ClusterFactor& factor, std::string_view parameter);

/// Multiplies the factor's parameters, each kept inside its own range. What a node does not say of
/// its host is 1.
void scale(Cluster& cluster, const ClusterFactor& factor, double by);

/// `measured` of a cluster file, as calibration/twin/files.h writes it.
ClusterEvidence read_evidence(YamlMap map);

}  // namespace ergometer::spec
