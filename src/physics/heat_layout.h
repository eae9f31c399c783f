#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "physics/heat_network.h"
#include "physics/heat_step.h"
#include "physics/settled_lane.h"

namespace ergometer::physics {

/// Factors on resistance are rounded to 1/32 and flows to 1/128, so that propagators are shared:
/// at most 1/256 of flow off is 0.4 % of preheat, 0.06 K of an air-cooled node's 15 K.
inline constexpr double kResistanceBins = 32, kFlowBins = 128;
/// The bin of a value above zero, at least the first.
int bin_of(double value, double bins);

/// Nodes that one part of a cluster has: of eight GPUs, with all that a tick of theirs touches,
/// some megabyte. Fewer leave more blocks half empty.
inline constexpr int64_t kNodesTogether = 512;

/// A lane's network at one flow, with the steps that have been asked for.
struct Coupled {
  HeatNetwork network;
  std::map<double, StepTable> steps;  ///< by seconds
};

/// Consecutive blocks whose lanes share a network, or one block of others.
struct Group {
  std::array<Coupled*, kSideBySide> lanes{};  ///< of each block; the others repeat the last one
  size_t first = 0, count = 0;
  double step_s = -1;                 ///< that it took last
  const StepTable* shared = nullptr;  ///< its table; null: lanes have their own
  BlockTable own;
};

/// Which lanes of a cluster are advanced side by side. Lanes of one kind at one flow share a
/// network. Those that are close in the cluster too fill blocks of eight, neighbouring nodes first;
/// where there are few of them, blocks with others of their shape. A step touches the cluster's
/// arrays part by part, each small enough for the second-level cache.
class HeatLayout {
 public:
  HeatLayout(const CoolingParameters& cooling, const spec::Node& node, int64_t nodes,
             std::span<const double> die_resistance);
  HeatLayout(const HeatLayout&) = delete;
  HeatLayout& operator=(const HeatLayout&) = delete;

  /// Forms blocks for these flows (bins, one a node); their values are to be filled.
  void arrange(std::span<const int> flow_bins);
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const Group> groups() const { return groups_; }
  /// Parts of the cluster that nothing of a step connects: nodes that follow one another.
  size_t parts() const {
    return static_cast<size_t>((nodes_ + kNodesTogether - 1) / kNodesTogether);
  }
  std::span<Group> groups_of(size_t part);
  /// The first node of a part; of the one behind the last, the number of nodes.
  int64_t first_node(size_t part) const {
    return std::min(nodes_, static_cast<int64_t>(part) * kNodesTogether);
  }

  /// Copies between the blocks and an array of four places a GPU.
  void read(std::span<double> places) const;
  void write(std::span<const double> places);

  /// Sets the tables of the group to steps of `dt_s`.
  void prepare(Group& group, double dt_s);

  /// Settled excess temperatures over the inlet, four places a GPU.
  /// `flow` as it is, not rounded, one a node.
  void settle(std::span<const double> flow, std::span<const double> die_w,
              std::span<const double> memory_w, std::span<double> places);
  /// Settled rise of a GPU's die for each watt on it.
  double die_k_per_w(int64_t gpu, double flow) const;

 private:
  /// Lanes of one shape with the same resistance bins.
  struct Kind {
    size_t lane = 0;              ///< one of the node's lanes that has this shape
    std::vector<int> bins;        ///< of resistance, one a GPU of the lane
    std::vector<double> factors;  ///< on the die's resistance, the same
    std::map<int, Coupled> at_flow;
  };
  /// Lanes of one shape that are close in the cluster.
  struct Family {
    size_t part = 0;
    std::vector<int64_t> lanes;
  };

  void find_families(std::span<const double> die_resistance);
  void arrange(Family& family, std::span<const int> flow_bins);
  void add_block(std::span<const int64_t> lanes, std::span<const int> flow_bins,
                 size_t first_group);
  void point_blocks();
  void forget_steps();
  Coupled& coupled(Kind& kind, int flow_bin);
  const StepTable& step(Coupled& coupled, double dt_s);

  int64_t node_of(int64_t lane) const { return lane / static_cast<int64_t>(lanes_.size()); }
  size_t local(int64_t lane) const { return static_cast<size_t>(lane) % lanes_.size(); }

  CoolingParameters cooling_;
  int64_t nodes_;
  int gpus_per_node_;
  std::vector<Lane> lanes_;           ///< of every node
  std::vector<SettledLane> settled_;  ///< the same; the first of each shape is solved
  std::vector<Kind> kinds_;
  std::vector<size_t> kind_of_;  ///< one a lane of the cluster
  std::vector<Family> families_;
  size_t steps_ = 0;  ///< kept in all networks together

  std::vector<Group> groups_;
  std::vector<size_t> part_ends_;  ///< groups up to the end of each part
  std::vector<Block> blocks_;
  std::vector<Row> values_;
  std::vector<int32_t> gpus_, block_nodes_;
};

}  // namespace ergometer::physics
