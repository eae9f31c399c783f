#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parameter.h"
#include "spec/job/topology.h"

namespace ergometer::spec {

/// A GPU as the scheduler sees it: one rank. On MI250 and MI250X that is one of the module's two
/// dies (GCD). Everything numeric is in `parameters` under the names of
/// `spec/cluster/parameter_table.h`; the fields below are those that more than one room reads,
/// copied out of it by the reader.
struct Gpu {
  std::string name;    ///< "H100-SXM5-80GB"
  std::string vendor;  ///< "NVIDIA" | "AMD"
  std::string
      architecture;  ///< "volta" | "ampere" | "hopper" | "blackwell" | "cdna2" | "cdna3" | "cdna4"
  int64_t sms = 0;   ///< streaming multiprocessors or compute units
  double memory_bytes = 0;
  double memory_bytes_per_s = 0;     ///< data-sheet peak
  double boost_clock_hz = 0;         ///< the clock at which the data sheet states peak FLOP/s
  double sustained_clock_hz = 0;     ///< under a long GEMM load
  double peak_bf16_flops_per_s = 0;  ///< dense, at boost clock; other precisions in `parameters`
  int dies_per_module = 1;
  /// The catalog files that `parameters` came from, by their names ("h100-sxm5-80gb", "hopper");
  /// empty for what was written inline.
  std::string entry, kernels, power;
  std::string measured_as;  ///< see `measured_gpu`; empty: no run was seen on such a GPU
  base::ParameterSet parameters;
};

enum class IntraKind { kNvlinkSwitch, kNvlinkMesh, kXgmiMesh, kPcie };

/// How heat leaves a node.
enum class Cooling { kAir, kLiquid, kImmersion };

/// Where a GPU sits in the chassis' airflow; used by the heat model and shown in the report.
struct Slot {
  int row = 0;   ///< 0 is nearest the air inlet
  int lane = 0;  ///< side by side in one row
};

/// A network card and the node's GPUs (local indices) that send through it.
struct Nic {
  double bytes_per_s = 0;  ///< one direction, line rate
  std::vector<int> gpus;
};

struct Node {
  std::string name;
  Gpu gpu;
  int gpus = 0;
  std::vector<Slot> slots;  ///< one a GPU
  IntraKind intra = IntraKind::kNvlinkSwitch;
  double intra_bytes_per_s = 0;  ///< one GPU, one direction, all its links together, line rate
  int links_per_gpu = 0;
  std::vector<Nic> nics;
  std::string cpu;
  Cooling cooling = Cooling::kAir;  ///< as built; a job may ask for another
  std::string collectives;          ///< the file of catalog/collectives; empty when written inline
  /// "collective.*" inside the node, host costs, "power.*" of what is not a GPU, and what cools it:
  /// "cooling.air.*", "cooling.liquid.*", "cooling.immersion.*".
  base::ParameterSet parameters;
};

enum class FabricKind {
  kRailOptimized,
  kFatTree,
  kSingleSwitch,
  kRailOnly,  ///< rails that no switch joins: between unlike ones traffic goes over the node's
              ///< links
  kDragonfly,
  kTorus,
  kHyperX,
  kOptical  ///< circuits that are made for each job (spec/job/circuits.h)
};
/// Whether switches lie above switches, as tiers, in a network of this kind.
constexpr bool has_tiers(FabricKind kind) { return kind <= FabricKind::kRailOnly; }

/// One tier of switches, seen from below.
struct FabricTier {
  std::string name;             ///< "leaf", "spine", "core"
  int64_t nodes_below = 0;      ///< nodes that one switch group of this tier joins; 0: all
  double oversubscription = 1;  ///< capacity below / capacity above
};

struct Fabric {
  std::string source;
  FabricKind kind = FabricKind::kRailOptimized;
  /// Of a network without a tree, what its dimensions join: how far traffic climbs.
  std::vector<FabricTier> tiers;
  Topology topology;
  Planes planes;                  ///< of a network of tiers
  std::string collectives;        ///< the file of catalog/collectives; empty when written inline
  base::ParameterSet parameters;  ///< "collective.*" between nodes
};

/// Nodes of one kind, side by side in a cluster that has several kinds.
struct NodeGroup {
  Node node;
  int64_t nodes = 0;
};

/// What a recording of a job told of a cluster (`ergometer calibrate --from`): how sure its factors
/// (spec/cluster/cluster_factors.h) are, and of what kind that job was.
struct ClusterEvidence {
  std::string job;                        ///< for people
  std::string software, precision, kind;  ///< as in catalog/tables/evidence.csv
  int64_t gpus = 0, nodes = 0;
  double form = 0;  ///< of a step's logarithm: what the model's form leaves on other jobs
  std::vector<std::string> factors;
  /// Of the factors' logarithms, the lower triangle: a row a factor.
  std::vector<std::vector<double>> covariance;
  /// What that leaves open of one job's step time, found by the engine before it predicts the job:
  /// one standard deviation of its logarithm, and the factor that most of it comes from.
  double step_deviation = 0;
  std::string mostly;
};

struct Cluster {
  std::string name;
  std::string source;
  Node node;          ///< of groups the first one's
  int64_t nodes = 0;  ///< 0: as many as the job asks for
  /// Two or more, in the order of nodes, neighbours unlike, all with as many GPUs a node; empty:
  /// all nodes are alike. Who works with groups asks `spec/job/node_groups.h`.
  std::vector<NodeGroup> groups;
  int64_t domain_gpus =
      0;  ///< GPUs that share one scale-up network: a node's, or 72 in an NVL72 rack
  Fabric fabric;
  std::optional<ClusterEvidence> measured;  ///< nothing: the catalog's runs alone tell of it
};

}  // namespace ergometer::spec
