#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/power/other_work.h"
#include "physics/governor.h"
#include "physics/heat.h"
#include "physics/node_power.h"
#include "physics/silicon.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// GPUs that follow one another.
struct GpuRange {
  size_t first = 0, count = 0;
};

/// Nodes of one kind, which follow one another: a group of the cluster's (spec/job/node_groups.h).
struct FleetKind {
  physics::GpuPower gpu;
  physics::NodePower node;
  physics::CoolingParameters cooling;
  int64_t first_node = 0, nodes = 0;  ///< kept
  double ranks = 0, all_nodes = 0;    ///< of the job
  /// The clock at which its prices hold, over that of the first kind: of the sustained clocks,
  /// until PowerLoop has found those of nominal conditions. Clocks of unlike GPUs are compared, and
  /// handed to the engine, as those of the first kind: over this.
  double pace = 1;
};

/// The GPUs of a job's nodes as power and heat see them: kinds, differences between them, what they
/// are told. Nodes that nothing tells apart, neither roles nor silicon nor settings, are kept once,
/// with their number as weight: of a job on nominal silicon, a handful. GPUs are numbered
/// `kept node * gpus_per_node + index`.
struct Fleet {
  std::vector<FleetKind> kinds;  ///< one, but for clusters of unlike nodes
  int64_t nodes = 0;             ///< kept
  int64_t gpus_per_node = 0;
  int64_t ranks = 0, all_nodes = 0;  ///< of the job
  std::vector<double> weight;        ///< by kept node: nodes that are like it
  int32_t classes = 1;               ///< of a stage's ranks, by how full their experts are
  /// By GPU, what its rank runs: (stage x kinds + kind) x classes + class (`LoadClasses`); -1: no
  /// rank, idle.
  std::vector<int32_t> role;
  std::vector<int32_t> kept;      ///< by node of the job: the kept node
  std::vector<int64_t> rank_map;  ///< as `Parallelism::rank_map`
  std::vector<physics::Silicon> silicon;
  std::vector<physics::ClockLimits> limits;
  std::vector<double> speed;    ///< share of the clock decided that a GPU reaches; 1 but for faults
  std::vector<double> inlet_c;  ///< by node
  std::vector<double> fan;      ///< by node, share of full speed; 0: automatic
  std::vector<double> open;     ///< by node, share of the flow that the inlet lets through
  /// By GPU: the first of its node that nothing tells it from, its place among the GPUs of its
  /// cooling lane and what they are included: power, clock and heat of both are the same.
  std::vector<int32_t> like;
  /// By GPU, what another job draws there and of it the heat of the HBM; 0: none. Empty: no GPU of
  /// these nodes is another job's.
  std::vector<double> other_w, other_memory_w;

  bool is_others(size_t gpu) const { return !other_w.empty() && other_w[gpu] > 0; }
  /// Of a GPU that has a rank.
  size_t stage_of(size_t gpu) const {
    return static_cast<size_t>(role[gpu] / classes) / kinds.size();
  }
  /// The number of the kind that a role's GPUs, a node and a GPU are of.
  size_t kind_of_role(size_t number) const {
    if (kinds.size() == 1) return 0;  // divisions are slow, and asked for in every tick
    return number / static_cast<size_t>(classes) % kinds.size();
  }
  size_t kind_of_node(int64_t number) const {
    size_t kind = 0;
    while (kind + 1 < kinds.size() && number >= kinds[kind + 1].first_node) ++kind;
    return kind;
  }
  size_t kind_of(size_t gpu) const {
    return kinds.size() == 1 ? 0 : kind_of_node(static_cast<int64_t>(gpu) / gpus_per_node);
  }
  const FleetKind& of_gpu(size_t gpu) const { return kinds[kind_of(gpu)]; }
  GpuRange gpus_of(const FleetKind& kind) const {
    return {static_cast<size_t>(kind.first_node * gpus_per_node),
            static_cast<size_t>(kind.nodes * gpus_per_node)};
  }
  /// Of tables by role whose first row is that of GPUs without a rank.
  size_t row_of(size_t gpu) const { return static_cast<size_t>(role[gpu] + 1); }
  size_t first_like(size_t gpu) const { return static_cast<size_t>(like[gpu]); }
  bool is_first(size_t gpu) const { return first_like(gpu) == gpu; }
  int64_t gpus() const { return nodes * gpus_per_node; }
  double weight_of(size_t gpu) const { return weight[gpu / static_cast<size_t>(gpus_per_node)]; }
  size_t gpu_of(int64_t rank) const {
    const int64_t gpu = rank_map.empty() ? rank : rank_map[static_cast<size_t>(rank)];
    return static_cast<size_t>(kept[static_cast<size_t>(gpu / gpus_per_node)] * gpus_per_node +
                               gpu % gpus_per_node);
  }
};

/// An input error names the parameter that a catalog entry lacks. `others`: what other jobs draw on
/// GPUs that none of the job's ranks has.
Result<Fleet> make_fleet(const spec::Job& job, std::span<const OtherWork> others = {});

}  // namespace ergometer::engine
