#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/decimal.h"
#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"

namespace ergometer::importer {
namespace {

using run::Metric;

/// CharLLM-PPT's names, and what one unit on disk is in the metric's own.
struct KnownFile {
  std::string_view name;
  Metric metric;
  double factor;
  bool wraps;  ///< the lower 32 bits of a counter
};
constexpr double kKi = 1024;
constexpr std::array kFiles = std::to_array<KnownFile>({
    {"gpu_power", Metric::kInstantPower, 1, false},
    {"power", Metric::kInstantPower, 1, false},
    {"mem_power", Metric::kMemoryPower, 1, false},
    {"gpu_thermal", Metric::kGpuTemperature, 1, false},
    {"mem_thermal", Metric::kMemoryTemperature, 1, false},
    {"gpu_util", Metric::kGpuUtilization, 1, false},
    {"mem_util", Metric::kMemoryUtilization, 1, false},
    {"sm_clock", Metric::kSmClock, 1, false},
    {"mem_clock", Metric::kMemoryClock, 1, false},
    {"pcie_tx_bytes", Metric::kPcieSent, 1, true},
    {"pcie_rx_bytes", Metric::kPcieReceived, 1, true},
    {"pcie_tx_throughput", Metric::kPcieSentRate, 1e3, false},
    {"pcie_rx_throughput", Metric::kPcieReceivedRate, 1e3, false},
    {"nvlink_tx_throughput", Metric::kNvlinkSent, kKi, true},
    {"nvlink_rx_throughput", Metric::kNvlinkReceived, kKi, true},
});
constexpr double kTwoTo32 = 4294967296.0;

struct FileName {
  const KnownFile* file = nullptr;
  int64_t rank = -1;
};

/// METRIC_RANK, and PREFIX_METRIC_RANK where the longest metric counts.
FileName read_name(std::string_view path) {
  const std::string_view stem = stem_of(path);
  const size_t line = stem.rfind('_');
  if (line == std::string_view::npos) return {};
  const auto rank = whole_number(stem.substr(line + 1));
  const std::string_view name = stem.substr(0, line);
  if (!rank || *rank < 0 || name.starts_with("system_")) return {};
  FileName found{nullptr, *rank};
  for (const KnownFile& file : kFiles) {
    const bool fits =
        name == file.name || name.ends_with(std::string("_") + std::string(file.name));
    if (fits && (found.file == nullptr || file.name.size() > found.file->name.size()))
      found.file = &file;
  }
  return found;
}

/// Counters of which only 32 bits were kept: each step down is a turn of the counter, at least one.
class Unwrap {
 public:
  explicit Unwrap(bool wraps) : wraps_(wraps) {}
  /// The counter as it goes on; false where it went down and that may not be repaired.
  bool next(double raw, bool repair, double& value) {
    const bool down = wraps_ && any_ && raw < last_;
    if (down) {
      ++turns_;
      if (repair) base_ += kTwoTo32;
    }
    any_ = true;
    last_ = raw;
    value = base_ + raw;
    return !down || repair;
  }
  int64_t turns() const { return turns_; }

 private:
  bool wraps_, any_ = false;
  double last_ = 0, base_ = 0;
  int64_t turns_ = 0;
};

struct Pair {
  int64_t time_ns;
  double value;
};

base::Result<std::vector<Pair>> read_pairs(std::string_view text, LogBuilder& log) {
  std::vector<Pair> pairs;
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
      return base::input_error(
          fmt::format("{}:{}: column {}: found '{}', allowed: unix_seconds,value", log.file(),
                      lines.number(), cells.size() == 2 && time ? 2 : 1, trim(lines.line())));
    }
  }
  return pairs;
}

}  // namespace

bool is_pair_list(std::string_view line) {
  std::vector<std::string_view> cells;
  split_cells(line, cells);
  return cells.size() == 2 && time_to_ns(cells[0]) && number(cells[0]) && number(cells[1]);
}

base::Result<void> read_pair_list(std::string_view text, bool repair, LogBuilder& log) {
  ERGOMETER_ASSIGN(std::vector<Pair> pairs, read_pairs(text, log));
  const FileName name = read_name(log.file());
  if (name.file == nullptr) {
    log.drop("a series that is no GPU's, by its name", static_cast<int64_t>(pairs.size()));
    return {};
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.time_ns < b.time_ns; });
  const bool link_0 =
      name.file->metric == Metric::kNvlinkSent || name.file->metric == Metric::kNvlinkReceived;
  const size_t device = log.device_number(run::DeviceKind::kGpu, std::string(folder_of(log.file())),
                                          fmt::format("rank {}", name.rank));
  log.device_at(device).rank = name.rank;
  Unwrap unwrap(name.file->wraps);
  int64_t failed = 0, unrepaired = 0;
  for (const Pair& pair : pairs) {
    if (pair.value == -1) {
      ++failed;
      continue;
    }
    double value = 0;
    if (!unwrap.next(pair.value, repair, value)) ++unrepaired;
    log.add(device, name.file->metric, pair.time_ns, value * name.file->factor, link_0);
  }
  log.drop("a failed reading (-1)", failed);
  if (repair && unwrap.turns() > 0)
    log.note(
        fmt::format("{}: the counter went over 32 bits {} times; at least one turn each was "
                    "added, there may have been more",
                    log.file(), unwrap.turns()));
  log.drop("the counter went over 32 bits (--repair goes on counting)", unrepaired);
  if (link_0)
    log.note(
        "NVLink counters of CharLLM-PPT are those of link 0 alone: times the number of links "
        "they are an estimate of the GPU's traffic, never the traffic");
  return {};
}

}  // namespace ergometer::importer
