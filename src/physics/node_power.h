#pragma once

#include "base/result.h"
#include "spec/job/cluster.h"

namespace ergometer::physics {

/// What a node draws besides its GPUs, and what its supplies lose:
///   P_ac = (P_gpus + cpu + dram + nics + switches + other + fans + supply_fixed) / efficiency.
struct NodePower {
  double cpu_w = 0, dram_w = 0, nics_w = 0, switches_w = 0, other_w = 0;
  double supply_fixed_w = 0, supply_efficiency = 1;

  double overhead_w() const { return cpu_w + dram_w + nics_w + switches_w + other_w; }
  double ac_w(double gpus_w, double fans_w) const {
    return (gpus_w + overhead_w() + fans_w + supply_fixed_w) / supply_efficiency;
  }
};

/// From the node's parameters ("power.cpu", ...); an input error names what is missing.
Result<NodePower> node_power(const spec::Node& node);

}  // namespace ergometer::physics
