#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "physics/governor.h"
#include "physics/heat.h"
#include "physics/node_power.h"
#include "physics/silicon.h"
#include "spec/job.h"

namespace ergometer::engine {

/// The GPUs of a job's nodes as power and heat see them: kind, differences between them, what they
/// are told. GPU `node * gpus_per_node + index` runs the rank of that number; GPUs beyond the
/// job's ranks idle.
struct Fleet {
  physics::GpuPower gpu;
  physics::NodePower node;
  physics::CoolingParameters cooling;
  int64_t nodes = 0, gpus_per_node = 0, ranks = 0;
  std::vector<physics::Silicon> silicon;
  std::vector<physics::ClockLimits> limits;
  std::vector<double> speed;    ///< share of the clock decided that a GPU reaches; 1 but for faults
  std::vector<double> inlet_c;  ///< by node
  std::vector<double> fan;      ///< by node, share of full speed; 0: automatic
  std::vector<double> open;     ///< by node, share of the flow that the inlet lets through

  int64_t gpus() const { return nodes * gpus_per_node; }
};

/// An input error names the parameter that the catalog entry lacks.
base::Result<Fleet> make_fleet(const spec::Job& job);

}  // namespace ergometer::engine
