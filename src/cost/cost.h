#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::cost {

/// What bounds an operator, for the report.
enum class Limit : uint8_t { kCompute, kMemory, kLatency, kLink };

/// An operator's duration on a rank: `fixed_s + clocked_s * reference clock / the rank's clock`.
struct Price {
  double fixed_s = 0;
  double clocked_s = 0;  ///< at the reference clock, the GPU's sustained clock
  Limit limit = Limit::kCompute;
  double seconds() const { return fixed_s + clocked_s; }
};

/// Bytes that one rank sends, by the link they cross.
struct Traffic {
  double intra_bytes = 0;  ///< NVLink, xGMI or PCIe inside the scale-up domain
  double nic_bytes = 0;    ///< the network between domains
};

/// What stands between an operator's shape and its price and is neither in the shape nor in the
/// catalog; for the report. A member that does not enter an operator's price is 0.
struct Terms {
  double tile_share = 0;          ///< GEMM: q of gemm.cpp
  bool decodes = false;           ///< attention: so few queries that only bytes count
  double work_tiles = 0;          ///< fused attention: U of attention.cpp
  double visited_keys = 0;        ///< fused attention: keys that a query meets, on average
  double head_factor = 0;         ///< fused attention: what the heads' width does to the rate
  double library_factor = 1;      ///< fused attention: what its library does to the rate
  std::string_view memory_share;  ///< memory-bound kernel: the parameter that is its share of HBM
  double issued_share = 0;        ///< memory-bound kernel: of its bytes, those the SMs bind
  bool low_latency = false;       ///< collective: which of its two protocols is the quicker
  double latency_s = 0;           ///< collective: start, hops and ramp
  double transfer_s = 0;          ///< collective: its bytes over its bandwidth
  double software_factor = 1;     ///< time relative to the catalog's kernels, by the software
};

/// What launching costs the host, seconds.
struct HostCosts {
  double launch_s = 0;             ///< of a kernel; of a captured one where graphs hold everything
  double captured_launch_s = 0;    ///< of a kernel that a partial graph holds
  double collective_launch_s = 0;  ///< a call of the communication library
  double tensor_collective_s = 0;  ///< further, of a tensor-parallel one, by the ranks of its group
  double inner_launch_s = 0;       ///< of a kernel from inside another operator's call
  double backward_launch = 1;      ///< backward's share of launch_s: autograd runs it from C++
  double checkpoint_s = 0;         ///< of a checkpointed layer, beside its second forward
  double expert_cast_s = 0;        ///< to quantize one expert's tensor, beside its launches

  /// Host time to launch an operator's kernels: the first pays for the operator's Python and
  /// autograd, those behind it and those of inner operators come from code that already runs.
  double host_s(const workload::Operator& op) const {
    if (op.captured) return captured_launch_s * op.kernels;
    const double beside_s = expert_cast_s * op.expert_casts + (op.reruns ? checkpoint_s : 0);
    if (op.kind == workload::OperatorKind::kCollective)
      return collective_launch_s * op.kernels + beside_s +
             (op.group == workload::GroupKind::kTensor && op.kernels > 0 ? tensor_collective_s : 0);
    const bool backward =
        op.pass == workload::Pass::kBackward || op.pass == workload::Pass::kWeight;
    const int calls = op.inner || op.kernels == 0 ? 0 : 1;
    return (launch_s * calls + inner_launch_s * (op.kernels - calls)) *
               (backward ? backward_launch : 1) +
           beside_s;
  }
};

class PcieGroups;

/// Prices operators on one kind of GPU, node and fabric. Parameters are read from the catalog
/// entries once, when it is made; a missing one is an input error that names the file's entry and
/// the parameter.
class CostModel {
 public:
  struct Parameters;  ///< of `cost/parameters.h`, private to the folder

  /// An input error where the cluster's nodes are unlike: `models_of_groups` is for those.
  static Result<CostModel> make(const spec::Job& job);

  /// `where` matters for collectives only.
  Price price(const workload::Operator& op, const plan::GroupPlacement& where) const;
  Terms terms(const workload::Operator& op, const plan::GroupPlacement& where) const;

  const HostCosts& host() const;
  /// What the job's groups put on PCIe links; null: the nodes say no tree.
  const std::shared_ptr<const PcieGroups>& pcie() const;
  /// What running side by side does to durations, each a factor >= 1: `compute` while `collective`
  /// runs, and the collective while the compute operator runs.
  double compute_slowdown(const workload::Operator& compute,
                          const workload::Operator& collective) const;
  double collective_slowdown(const workload::Operator& collective,
                             const workload::Operator& compute) const;

 private:
  Price price_fused(const workload::Operator& op, const plan::GroupPlacement& where) const;

  explicit CostModel(std::shared_ptr<const Parameters> parameters)
      : parameters_(std::move(parameters)) {}
  std::shared_ptr<const Parameters> parameters_;
};

/// What one rank sends of `bytes` of tokens, each to the members that hold its experts: once over
/// the network to every other domain among them, and inside from there. `ranks` lie evenly on
/// `domains`.
Traffic routed_traffic(double bytes, double ranks, double domains,
                       const workload::TokenRouting& routing);
Traffic traffic(const workload::Operator& op, const plan::GroupPlacement& where);

/// Prices of a plan's operators per role, [role][operator].
struct Prices {
  std::vector<std::vector<Price>> prices;
  /// What a rank's operators take longer for each even share of tokens that its experts get, or for
  /// as much work as the plan's micro batch again (`workload::UnevenWork`), [role][operator]; the
  /// fullest rank's where it is a collective that all of those meet in. Empty: work is even.
  std::vector<std::vector<Price>> per_load;
};

/// The table both engines read.
struct CostTable : HostCosts, Prices {
  double reference_clock_hz = 0;
  /// In a cluster of unlike nodes, what ranks take on each group of nodes, [group]. The table's own
  /// prices are then, role by role, those of its slowest group. Empty: all nodes are alike.
  std::vector<Prices> groups;
  std::vector<size_t> slowest_group;  ///< by role; empty as `groups`
  /// By group of nodes, one where all are alike; null: those nodes say no PCIe tree.
  std::vector<std::shared_ptr<const PcieGroups>> pcie;
};
CostTable price_plan(const CostModel& model, const plan::Plan& plan, const spec::Job& job);

/// The models of all groups of the cluster's nodes, one where they are alike.
Result<std::vector<CostModel>> models_of_groups(const spec::Job& job);
/// Prices on a cluster of any kind: `models_of_groups`. Operators take what they take on a rank's
/// own GPU. Of a collective that goes across kinds every member takes as long as on the slowest of
/// them. The host's costs are the slowest group's, and clocks are told in shares: every GPU's
/// reference clock is its own kind's, so that at `reference_clock_hz` prices hold for all.
CostTable price_plan(std::span<const CostModel> models, const plan::Plan& plan,
                     const spec::Job& job);

}  // namespace ergometer::cost
