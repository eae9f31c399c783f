#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ergometer::study::charllm {

/// How a testbed differs from what stands in the catalog.
struct Change {
  std::string gpu;                                ///< another one of the catalog
  std::map<std::string, std::string> parameters;  ///< of the GPU, "4.8 TB/s"
  std::string nic_bandwidth;                      ///< of each port
  int64_t nodes = 0;                              ///< 0: as many as the catalog's cluster has
};

/// A cluster of the catalog with something changed, as the text of a `cluster` setting.
std::string changed_cluster(const std::string& cluster, const std::string& name,
                            const Change& change);

}  // namespace ergometer::study::charllm
