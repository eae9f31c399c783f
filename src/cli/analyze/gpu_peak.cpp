#include "cli/analyze/gpu_peak.h"

#include <algorithm>
#include <string_view>

#include "spec/catalog/read.h"
#include "validation/rows/names.h"

namespace ergometer::cli {
namespace {

/// Whether the driver's name leaves open which of several boards it is, or means one that the
/// catalog lacks: the H100 NVL, the A100 PCIe of 40 GB, workstation cards.
bool is_ambiguous(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("RTX") || has("NVL")) return true;
  return has("A100") && !has("80GB") && !has("SXM4-40GB");
}

}  // namespace

std::optional<analysis::DevicePeak> peak_of(const std::vector<run::RankTrace>& ranks) {
  if (ranks.empty()) return std::nullopt;
  const std::string& gpu = ranks.front().gpu;
  const bool same =
      std::ranges::all_of(ranks, [&](const run::RankTrace& trace) { return trace.gpu == gpu; });
  if (!same || is_ambiguous(gpu)) return std::nullopt;
  const auto node = validation::node_of_gpu(gpu);
  if (!node) return std::nullopt;
  const auto cluster = spec::read_cluster(std::string(*node));
  if (!cluster) return std::nullopt;
  const spec::Gpu& known = cluster->node.gpu;
  const auto flops = [&](const char* key) { return known.parameters.value_or(key, 0); };
  return analysis::DevicePeak{known.name,         flops("peak_fp32"), flops("peak_fp16"),
                              flops("peak_bf16"), flops("peak_fp8"),  known.memory_bytes_per_s};
}

}  // namespace ergometer::cli
