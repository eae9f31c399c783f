// A cluster file: refused with a message, or a cluster with GPUs that can be placed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "spec/catalog/read.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cluster = ergometer::spec::parse_cluster(text, "cluster.yaml");
  if (!cluster) {
    if (cluster.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& group : cluster->groups)
    if (group.nodes <= 0 || group.node.gpus != cluster->node.gpus) std::abort();
  const auto& node = cluster->node;
  if (node.gpus <= 0 || cluster->nodes < 0 || cluster->domain_gpus <= 0) std::abort();
  if (!(node.gpu.memory_bytes > 0) || !(node.gpu.peak_bf16_flops_per_s >= 0)) std::abort();
  for (const auto& nic : node.nics)
    for (const int gpu : nic.gpus)
      if (gpu < 0 || gpu >= node.gpus) std::abort();
  return 0;
}
