#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "physics/heat_network.h"
#include "physics/heat_step.h"
#include "physics/propagator.h"

namespace ergometer::physics {

/// Factors on resistance are rounded to 1/32 and flows to 1/128, so that propagators are shared:
/// 1/256 of flow is 0.3 % of the film's resistance, below 0.1 K.
inline constexpr double kResistanceBins = 32, kFlowBins = 128;
/// The bin of a value above zero, at least the first.
int bin_of(double value, double bins);

/// A lane's network at one flow, with the steps that have been asked for.
struct Coupled {
  HeatNetwork network;
  std::optional<Propagator> steady;
  std::map<double, StepTable> steps;  ///< by seconds
};

/// Consecutive blocks that take the same steps.
struct Group {
  Coupled* coupled = nullptr;
  size_t first = 0, count = 0;
};

/// Which lanes of a cluster are advanced side by side. Lanes of one shape with the same resistance
/// bins form a family; its lanes at one flow share a network, and fill blocks of eight.
class HeatLayout {
 public:
  HeatLayout(const CoolingParameters& cooling, const spec::Node& node, int64_t nodes,
             std::span<const double> die_resistance);

  /// Forms blocks for these flows (bins, one a node); their values are to be filled.
  void arrange(std::span<const int> flow_bins);
  std::span<const Group> groups() const { return groups_; }
  std::span<const Block> blocks() const { return blocks_; }

  /// Copies between the blocks and an array of four places a GPU.
  void read(std::span<double> places) const;
  void write(std::span<const double> places);

  const StepTable& step(Coupled& coupled, double dt_s);
  /// The rise of each state for each watt, settled.
  const Propagator& steady(Coupled& coupled);
  /// Where a GPU is: its lane's network at a flow, and its place in the lane.
  Coupled& coupled(int64_t gpu, int flow_bin, int& place);

 private:
  struct Family {
    size_t lane = 0;        ///< one of the node's lanes that has this shape
    std::vector<int> bins;  ///< of resistance, one a GPU of the lane
    std::vector<int64_t> lanes;
    std::map<int, Coupled> at_flow;
  };

  void find_families(std::span<const double> die_resistance);
  void arrange(Family& family, std::span<const int> flow_bins);
  void add_block(const Family& family, std::span<const int64_t> lanes);
  void point_blocks();
  Coupled& coupled(Family& family, int flow_bin);

  int64_t node_of(int64_t lane) const { return lane / static_cast<int64_t>(lanes_.size()); }
  size_t local(int64_t lane) const { return static_cast<size_t>(lane) % lanes_.size(); }

  CoolingParameters cooling_;
  int64_t nodes_;
  int gpus_per_node_;
  std::vector<Lane> lanes_;  ///< of every node
  std::vector<Family> families_;
  std::vector<size_t> family_of_;  ///< one a lane of the cluster
  size_t steps_ = 0;               ///< kept in all networks together

  std::vector<Group> groups_;
  std::vector<Block> blocks_;
  std::vector<Row> values_;
  std::vector<int32_t> gpus_, block_nodes_;
};

}  // namespace ergometer::physics
