#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/telemetry/charllm_name.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

using run::Metric;

constexpr double kTwoTo32 = 4294967296.0;

struct Pair {
  int64_t time_ns;
  double value;
};
using Pairs = std::vector<Pair>;

Result<Pairs> read_pairs(std::string_view text, LogBuilder& log) {
  Pairs pairs;
  std::vector<std::string_view> cells;
  for (Lines lines(text); lines.next();) {
    split_cells(lines.line(), cells);
    const auto time = cells.size() == 2 ? time_to_ns(cells[0]) : std::nullopt;
    const auto value = cells.size() == 2 ? number(cells[1]) : std::nullopt;
    if (time && value) {
      pairs.push_back({*time, *value});
    } else if (lines.cut_off()) {
      log.drop("a row that is cut off at the end of the file");
    } else {
      return input_error("{}:{}: column {}: found '{}', allowed: unix_seconds,value", log.file(),
                         lines.number(), cells.size() == 2 && time ? 2 : 1, trim(lines.line()));
    }
  }
  const auto failed = std::erase_if(pairs, [](const Pair& pair) { return pair.value == -1; });
  log.drop("a failed reading (-1)", static_cast<int64_t>(failed));
  std::ranges::stable_sort(pairs, {}, &Pair::time_ns);
  return pairs;
}

/// Adds 2^32 wherever the counter falls, with `repair`; without it readings stay as they are. A
/// fall that would be twice what the link moves is no turn: the counter began again.
CounterTurns unwrap(const CharllmMetric& metric, bool repair, Pairs& pairs) {
  CounterTurns turns{.most_gb_per_s = metric.most_per_s * 1e-9};
  const double most = metric.most_per_s / metric.factor;
  double base = 0, last = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double raw = pairs[i].value, step = raw - last;
    last = raw;
    pairs[i].value = base + raw;
    if (i == 0) continue;
    const double seconds = static_cast<double>(pairs[i].time_ns - pairs[i - 1].time_ns) * 1e-9;
    ++turns.intervals;
    if (seconds * most > kTwoTo32) ++turns.too_long;
    if (step >= 0) {
      if (step > seconds * most) ++turns.too_fast;
      continue;
    }
    const bool turned = step + kTwoTo32 <= 2 * seconds * most;
    ++(turned ? turns.turns : turns.restarts);
    if (turned && repair) base += kTwoTo32;
    pairs[i].value = base + raw;
  }
  turns.counters = turns.turns > 0 ? 1 : 0;
  return turns;
}

/// The folder's name may say which job it was, and the artifact's figures may say another.
void note_config(LogBuilder& log) {
  const CharllmConfig config = charllm_swapped_config(log.file());
  if (config.name.empty()) return;
  if (log.options().repair) {
    log.set_job(std::string(config.job_json));
    log.note("{} is {}, as its configuration says; the artifact's figures call it {}", config.name,
             config.layout, config.labelled);
  } else {
    log.note(
        "{}: the artifact's figures call it {}, but its configuration says {} "
        "(--repair says so in the Run)",
        config.name, config.labelled, config.layout);
  }
}

void add_gpu(const CharllmGpuFile& file, Pairs pairs, LogBuilder& log) {
  const CharllmMetric& metric = *file.metric;
  const bool link_0 =
      metric.metric == Metric::kNvlinkSent || metric.metric == Metric::kNvlinkReceived;
  const size_t device = log.device_number(run::DeviceKind::kGpu, std::string(folder_of(log.file())),
                                          fmt::format("rank {}", file.rank));
  log.device_at(device).rank = file.rank;
  if (metric.wraps) {
    const CounterTurns turns = unwrap(metric, log.options().repair, pairs);
    if (log.options().repair) log.add_turns(metric.metric, turns);
    if (!log.options().repair)
      log.drop("the counter went over 32 bits (--repair goes on counting)",
               turns.turns + turns.restarts);
  }
  for (const Pair& pair : pairs)
    log.add(device, metric.metric, pair.time_ns, pair.value * metric.factor, link_0);
  if (!link_0) return;
  log.set_links(device, metric.metric, log.options().nvlink_links);
  log.note(
      "NVLink counters of CharLLM-PPT are those of link 0 alone: times the number of links "
      "(--nvlink-links 18 on H100 and H200) they are an estimate of the GPU's traffic, never the "
      "traffic");
}

/// What stands in a node's file by itself, or nothing.
struct NodeMetric {
  std::string_view name;
  run::DeviceKind kind;
  Metric metric;
};
constexpr std::array kNodeMetrics = std::to_array<NodeMetric>({
    {"cpu_temp", run::DeviceKind::kCpu, Metric::kCpuTemperature},
    {"ib_rx_bytes", run::DeviceKind::kPort, Metric::kNetReceived},
    {"ib_tx_bytes", run::DeviceKind::kPort, Metric::kNetSent},
});

size_t node_device(run::DeviceKind kind, const CharllmNodeFile& file, LogBuilder& log) {
  const bool node = kind == run::DeviceKind::kNode;
  const std::string host = std::string(folder_of(log.file()));
  const size_t device =
      log.device_number(kind, host, fmt::format("rank {} {}", file.rank, node ? "" : file.label));
  log.device_at(device).index = file.rank;
  log.device_at(device).name =
      node ? fmt::format("node of rank {}", file.rank)
           : fmt::format("node of rank {}, {}{}", file.rank,
                         kind == run::DeviceKind::kCpu ? "zone " : "", file.label);
  return device;
}

void add_parts(NodeParts::Part part, const CharllmNodeFile& file, const Pairs& pairs,
               LogBuilder& log) {
  const size_t device = node_device(run::DeviceKind::kNode, file, log);
  for (const Pair& pair : pairs) log.parts().add(device, part, pair.time_ns, pair.value);
}

void add_node(const CharllmNodeFile& file, bool repair, const Pairs& pairs, LogBuilder& log) {
  using Part = NodeParts::Part;
  const auto count = static_cast<int64_t>(pairs.size());
  if (file.metric == "cpu_idle") return add_parts(Part::kIdleSeconds, file, pairs, log);
  if (file.metric == "cpu_iowait") return add_parts(Part::kWaitSeconds, file, pairs, log);
  if (file.metric == "cpu_usage")
    return log.drop("seconds of several modes in one series, without their names; cpu_idle tells",
                    count);
  if (file.metric == "memory_used" || file.metric == "memory_free") {
    if (repair)
      return add_parts(file.metric == "memory_used" ? Part::kMemoryTotal : Part::kMemoryFree, file,
                       pairs, log);
    return log.drop(file.metric == "memory_used"
                        ? "holds the memory there is, not what is used (--repair takes "
                          "memory_free from it)"
                        : "free memory alone (--repair takes it from the memory there is)",
                    count);
  }
  for (const NodeMetric& known : kNodeMetrics) {
    if (known.name != file.metric) continue;
    const size_t device = node_device(known.kind, file, log);
    for (const Pair& pair : pairs) log.add(device, known.metric, pair.time_ns, pair.value);
    if (known.kind == run::DeviceKind::kPort)
      log.note(
          "ib_rx_bytes and ib_tx_bytes of CharLLM-PPT count IP over InfiniBand alone: NCCL's RDMA "
          "passes them by");
    return;
  }
  log.drop("a series of a node that is not known, by its name", count);
}

}  // namespace

bool is_pair_list(std::string_view text) {
  std::vector<std::string_view> cells;
  split_cells(first_line(text), cells);
  return cells.size() == 2 && time_to_ns(cells[0]) && number(cells[0]) && number(cells[1]);
}

Result<void> read_pair_list(std::string_view text, LogBuilder& log) {
  ERGOMETER_ASSIGN(Pairs pairs, read_pairs(text, log));
  note_config(log);
  const CharllmGpuFile gpu = charllm_gpu_file(log.file());
  const CharllmNodeFile node = charllm_node_file(log.file());
  if (gpu.metric != nullptr) {
    add_gpu(gpu, std::move(pairs), log);
  } else if (!node.metric.empty()) {
    add_node(node, log.options().repair, pairs, log);
  } else {
    log.drop("a series that is no GPU's and no node's, by its name",
             static_cast<int64_t>(pairs.size()));
  }
  return {};
}

}  // namespace ergometer::importer
