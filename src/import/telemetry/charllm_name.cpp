#include "import/telemetry/charllm_name.h"

#include <array>

#include "base/text.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"

namespace ergometer::importer {
namespace {

using run::Metric;

/// PCIe 5.0 x16 in one direction, by its data rate; a link of NVLink 4 the same.
constexpr double kPcieMost = 63e9, kNvlinkMost = 26.6e9;
constexpr std::array kMetrics = std::to_array<CharllmMetric>({
    {"gpu_power", Metric::kInstantPower, 1, false},
    {"power", Metric::kPower, 1, false},  // of its first version
    {"mem_power", Metric::kMemoryPower, 1, false},
    {"gpu_thermal", Metric::kGpuTemperature, 1, false},
    {"mem_thermal", Metric::kMemoryTemperature, 1, false},
    {"gpu_util", Metric::kGpuUtilization, 1, false},
    {"mem_util", Metric::kMemoryUtilization, 1, false},
    {"sm_clock", Metric::kSmClock, 1, false},
    {"mem_clock", Metric::kMemoryClock, 1, false},
    {"pcie_tx_bytes", Metric::kPcieSent, 1, true, kPcieMost},
    {"pcie_rx_bytes", Metric::kPcieReceived, 1, true, kPcieMost},
    {"pcie_tx_throughput", Metric::kPcieSentRate, 1e3, false},
    {"pcie_rx_throughput", Metric::kPcieReceivedRate, 1e3, false},
    {"nvlink_tx_throughput", Metric::kNvlinkSent, kKi, true, kNvlinkMost},
    {"nvlink_rx_throughput", Metric::kNvlinkReceived, kKi, true, kNvlinkMost},
});

struct Swapped {
  std::string_view prefix, layout, labelled, job_json;
};
constexpr std::array kSwapped = std::to_array<Swapped>({
    {"mixtral-8x7b_1_", "EP8-TP1-PP1-DP32", "EP4-TP2",
     R"({"model": {"name": "mixtral-8x7b"}, )"
     R"("parallelism": {"tp": 1, "cp": 1, "pp": 1, "dp": 32, "ep": 8}})"},
    {"mixtral-8x7b_2_", "EP4-TP2-PP1-DP16", "EP8-TP1",
     R"({"model": {"name": "mixtral-8x7b"}, )"
     R"("parallelism": {"tp": 2, "cp": 1, "pp": 1, "dp": 16, "ep": 4}})"},
});

/// "x_12" is "x" and 12; -1 where no number stands behind the last line.
int64_t split_number(std::string_view& text) {
  const size_t line = text.rfind('_');
  if (line == std::string_view::npos) return -1;
  const auto number = whole_number(text.substr(line + 1));
  if (!number || *number < 0) return -1;
  text = text.substr(0, line);
  return *number;
}

/// Whether a configuration's folder is not of the training sweep on H200, by its own name and the
/// two above it, which are the artifact's (SWEEP/MODEL/CONFIGURATION); what is further up is the
/// user's.
bool is_another_sweep(std::string_view folder) {
  size_t begin = folder.size();
  for (int level = 0; level < 3 && begin != std::string_view::npos && begin > 0; ++level)
    begin = folder.rfind('/', begin - 1);
  const std::string_view artifact = begin == std::string_view::npos ? folder : folder.substr(begin);
  for (const std::string_view other : {"h100", "lora", "inference"})
    if (artifact.find(other) != std::string_view::npos) return true;
  return false;
}

}  // namespace

CharllmGpuFile charllm_gpu_file(std::string_view path) {
  std::string_view name = stem_of(path);
  CharllmGpuFile found{nullptr, split_number(name)};
  if (found.rank < 0 || name.starts_with("system_")) return {};
  for (const CharllmMetric& metric : kMetrics) {
    const bool fits =
        name == metric.name || name.ends_with(std::string("_") + std::string(metric.name));
    if (fits && (found.metric == nullptr || metric.name.size() > found.metric->name.size()))
      found.metric = &metric;
  }
  return found;
}

CharllmNodeFile charllm_node_file(std::string_view path) {
  constexpr std::string_view kPrefix = "system_", kRank = "_rank_", kId = "_id_";
  std::string_view name = stem_of(path);
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  CharllmNodeFile file;
  const size_t rank = name.find(kRank), id = name.find(kId);
  if (rank != std::string_view::npos && id != std::string_view::npos && id > rank) {
    const auto number = whole_number(name.substr(rank + kRank.size(), id - rank - kRank.size()));
    if (!number || *number < 0) return {};
    file.label = name.substr(id + kId.size());
    file.rank = *number;
    name = name.substr(0, rank);
  } else if (file.rank = split_number(name); file.rank < 0) {
    return {};
  }
  file.metric = name;
  return file;
}

CharllmConfig charllm_swapped_config(std::string_view path) {
  for (std::string_view rest = folder_of(path); !rest.empty(); rest = folder_of(rest)) {
    const std::string_view part = base::last_part(rest, '/');
    for (const Swapped& swapped : kSwapped)
      if (part.starts_with(swapped.prefix) && !is_another_sweep(rest))
        return {std::string(part), swapped.layout, swapped.labelled, swapped.job_json};
    if (rest.find('/') == std::string_view::npos) break;
  }
  return {};
}

}  // namespace ergometer::importer
