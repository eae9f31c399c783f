#include "cli/analyze/gpu_peak.h"

#include <algorithm>

#include "spec/catalog/read.h"
#include "spec/cluster/cluster_names.h"

namespace ergometer::cli {

std::optional<analysis::DevicePeak> peak_of(const std::vector<run::RankTrace>& ranks) {
  if (ranks.empty()) return std::nullopt;
  const std::string& gpu = ranks.front().gpu;
  const bool same =
      std::ranges::all_of(ranks, [&](const run::RankTrace& trace) { return trace.gpu == gpu; });
  const auto named = spec::node_of_gpu(gpu);
  if (!same || !named || !named->certain) return std::nullopt;
  const auto cluster = spec::read_cluster(std::string(named->node));
  if (!cluster) return std::nullopt;
  const spec::Gpu& known = cluster->node.gpu;
  const auto flops = [&](const char* key) { return known.parameters.value_or(key, 0); };
  return analysis::DevicePeak{known.name,         flops("peak_fp32"), flops("peak_fp16"),
                              flops("peak_bf16"), flops("peak_fp8"),  known.memory_bytes_per_s};
}

}  // namespace ergometer::cli
