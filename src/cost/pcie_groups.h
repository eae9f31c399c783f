#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "plan/network/fabric_load.h"
#include "plan/network/pcie_load.h"
#include "plan/placement.h"
#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::cost {

/// Of a PCIe link's line rate, what messages have of it together (pcie_groups.cpp).
inline constexpr double kPcieShare = 12.0 / 15.75;

/// What a job's groups put on its nodes' PCIe links while all groups of a kind communicate. Only
/// traffic to NICs where GPUs meet over other links.
class PcieGroups {
 public:
  /// Nothing: the cluster's nodes say no tree.
  static std::shared_ptr<const PcieGroups> make(const spec::Job& job);

  /// Whether any of what a group so placed sends crosses PCIe.
  bool carries(const plan::GroupPlacement& where) const {
    return where.size > 1 && (meet_over_pcie_ || where.nodes > 1);
  }
  const spec::PcieTree& tree() const { return tree_; }
  /// For each byte that every rank sends, seconds of the fullest link of the fullest node.
  double s_per_byte(const workload::Operator& op) const { return of(op).s_per_byte; }
  /// Bytes on every link of that node for each byte that every rank sends.
  const std::vector<plan::PcieLoad::Link>& links(const workload::Operator& op) const {
    return of(op).links;
  }
  /// Ranks on that node.
  int64_t ranks(const workload::Operator& op) const { return of(op).ranks; }
  /// Bytes on every link of the fullest node while each of its ranks copies a byte to the host's
  /// memory and one from there, and how long that takes.
  const std::vector<plan::PcieLoad::Link>& host_links() const { return copies_.links; }
  double host_s_per_byte() const { return copies_.s_per_byte; }
  int64_t host_ranks() const { return copies_.ranks; }

 private:
  struct Fullest {
    double s_per_byte = 0;
    std::vector<plan::PcieLoad::Link> links;
    int64_t ranks = 0;  ///< on the node
    void take(const plan::PcieLoad& load, double share, int64_t ranks_there);
  };
  PcieGroups(const spec::Job& job, spec::PcieTree tree);
  const Fullest& of(const workload::Operator& op) const;
  /// A node's GPUs of one group in the order of the tree.
  struct Members {
    std::vector<int> gpus;
    int64_t in_domain = 0;  ///< how many meet without NICs, these and those of other nodes
  };
  int64_t rank_on(int64_t gpu, const spec::Job& job) const;  ///< -1: none
  int64_t ranks_on_node(int64_t node, const spec::Job& job) const;
  std::vector<Members> members_on(const spec::Job& job, workload::GroupKind kind,
                                  int64_t node) const;
  Fullest copies(const spec::Job& job) const;
  Fullest fullest(const spec::Job& job, workload::GroupKind kind, plan::Pattern pattern) const;
  void ring(const spec::Node& node, const Members& members, bool leaves,
            plan::PcieLoad& load) const;
  void exchange(const spec::Node& node, const Members& members, int64_t size,
                plan::PcieLoad& load) const;
  void pass_on(const spec::Node& node, const Members& members, bool leaves,
               plan::PcieLoad& load) const;
  void to_next_stage(const spec::Job& job, int64_t node, plan::PcieLoad& load) const;

  spec::PcieTree tree_;
  bool meet_over_pcie_ = false;
  double gpu_bytes_per_s_ = 0, host_link_ = 0;
  std::vector<int64_t> rank_of_;  ///< by GPU, -1: none; empty: GPU r runs rank r
  Fullest copies_;                ///< to and from the host
  static constexpr size_t kPatterns = static_cast<size_t>(plan::Pattern::kSend) + 1;
  std::array<std::array<Fullest, kPatterns>, workload::kGroupKindCount> fullest_;
};

}  // namespace ergometer::cost
