#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace ergometer::study::charllm {

/// How a testbed differs from what stands in the catalog.
struct Change {
  std::map<std::string, std::string> gpu;  ///< parameters of the GPU's own file, "4.8e12 B/s"
  std::string power;                       ///< entry of catalog/power instead of the GPU's
  std::string nic_bandwidth;               ///< of each port
  std::string intra_bandwidth;             ///< of a GPU's scale-up links
  int64_t nodes = 0;                       ///< 0: as many as the catalog's cluster has
};

/// A cluster of the catalog with something changed, as the text of a `cluster` setting. For the
/// study's two NVIDIA testbeds: nodes of one kind in two rows of slots, cooled by air or liquid.
base::Result<std::string> changed_cluster(const std::string& cluster, const std::string& name,
                                          const Change& change);

/// A GPU parameter of a cluster of the catalog as `Change::gpu` takes it.
base::Result<std::string> gpu_parameter(const std::string& cluster, const std::string& name);

}  // namespace ergometer::study::charllm
