#include "import/telemetry/nccl_samples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "import/telemetry/readers.h"
#include "import/text/decimal.h"

// nccl_bus_bandwidth_gbs{comm_name="0x7f8c",node="node1",gpu="GPU0",n_nodes="2",nranks="16",
//   collective="AllReduce",message_size="33-34MB"} 213.4
// and the same of nccl_algorithm_bandwidth_gbs and nccl_collective_exec_time_microseconds.

namespace ergometer::importer {
namespace {

constexpr double kSizeUnit = 1024, kGiga = 1e9;

enum class NcclTold : uint8_t { kBus, kAlgorithm, kTime };

std::optional<std::pair<NcclTold, double>> nccl_told_by(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  constexpr double kMicrosecond = 1e-6;
  if (!name.starts_with("nccl_")) return std::nullopt;
  if (has("bus_bandwidth") || has("busbw")) return std::pair(NcclTold::kBus, 1.0);
  if (has("algorithm_bandwidth") || has("algo_bandwidth") || has("algobw"))
    return std::pair(NcclTold::kAlgorithm, 1.0);
  const bool micro = name.ends_with("_us") || name.ends_with("_microseconds");
  if (has("exec_time") && (micro || name.ends_with("_seconds")))
    return std::pair(NcclTold::kTime, micro ? kMicrosecond : 1.0);
  return std::nullopt;
}

int64_t nccl_whole(const std::vector<Label>& labels, std::initializer_list<std::string_view> names,
                   int64_t otherwise) {
  const auto number = whole_number(label(labels, names));
  return number && *number >= 0 ? *number : otherwise;
}

/// Bus over algorithm bandwidth, as nccl-tests' PERFORMANCE.md defines them; 0: of a kind, or on
/// ranks, that are not known.
double bus_factor(std::string_view kind, int64_t ranks) {
  if (ranks < 1) return 0;
  const double n = static_cast<double>(ranks);
  if (kind == "AllReduce") return 2 * (n - 1) / n;
  if (kind == "AllGather" || kind == "ReduceScatter") return (n - 1) / n;
  return kind == "Broadcast" || kind == "Reduce" || kind == "Send" || kind == "Recv" ? 1 : 0;
}

/// What two of size, time and bandwidth say of the third.
void complete_timing(run::CollectiveTiming& timing, int64_t ranks) {
  const double factor = bus_factor(timing.kind, ranks);
  if (timing.algorithm_gb_per_s == 0 && timing.seconds == 0 && factor > 0)
    timing.algorithm_gb_per_s = timing.bus_gb_per_s / factor;
  const double rate = timing.algorithm_gb_per_s * kGiga;
  if (timing.seconds == 0 && rate > 0) timing.seconds = timing.bytes / rate;
  if (timing.bytes == 0) timing.bytes = timing.seconds * rate;
  if (rate == 0 && timing.seconds > 0)
    timing.algorithm_gb_per_s = timing.bytes / timing.seconds / kGiga;
}

}  // namespace

double message_bytes(std::string_view text) {
  std::array<double, 2> ends{};
  size_t count = 0;
  while (count < ends.size()) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), ends[count],
                                      std::chars_format::fixed);
    if (read.ec != std::errc{} || !(ends[count] >= 0)) return 0;
    ++count;
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
    if (!text.starts_with('-')) break;
    text.remove_prefix(1);
  }
  constexpr std::array<std::string_view, 5> kUnits = {"", "KB", "MB", "GB", "TB"};
  const std::string_view unit = text == "B" ? "" : text;
  const auto* const found = std::ranges::find(kUnits, unit);
  if (found == kUnits.end()) return 0;
  const double middle = count == 2 ? (ends[0] + ends[1]) / 2 : ends[0];
  return std::round(middle * std::pow(kSizeUnit, found - kUnits.begin()));
}

bool NcclSamples::add(std::string_view name, const std::vector<Label>& labels, int64_t time_ns,
                      double value) {
  const auto told = nccl_told_by(name);
  const std::string kind(label(labels, {"collective", "coll", "function"}));
  if (!told || kind.empty()) return false;
  constexpr double kMost = 1e18;
  if (!(value >= 0 && value <= kMost)) return true;
  const std::string communicator(label(labels, {"comm_id", "comm_hash", "comm", "comm_name"}));
  const std::string host(label(labels, {"node", "hostname", "host", "instance"}));
  const auto [member, is_new] = members_.emplace(
      Member(communicator, host, std::string(label(labels, {"rank", "gpu"}))), logs_.size());
  if (is_new) {
    run::CollectiveLog log;
    log.source = "nccl-inspector";
    log.communicator = communicator;
    log.host = host;
    log.rank = nccl_whole(labels, {"rank"}, -1);
    log.ranks = nccl_whole(labels, {"nranks", "n_ranks", "ranks"}, 0);
    log.nodes = nccl_whole(labels, {"n_nodes", "nnodes", "nodes"}, 0);
    logs_.push_back(std::move(log));
  }
  const std::string size(
      label(labels, {"message_size", "msg_size", "msg_size_bytes", "coll_msg_size_bytes"}));
  run::CollectiveTiming& timing = timings_[{member->second, kind, size, time_ns}];
  timing.kind = kind;
  timing.bytes = message_bytes(size);
  const auto [what, scale] = *told;
  if (what == NcclTold::kBus) timing.bus_gb_per_s = value;
  if (what == NcclTold::kAlgorithm) timing.algorithm_gb_per_s = value;
  if (what == NcclTold::kTime) timing.seconds = value * scale;
  return true;
}

void NcclSamples::finish(LogBuilder& log) {
  for (auto& [key, timing] : timings_) {
    complete_timing(timing, logs_[std::get<0>(key)].ranks);
    if (timing.seconds > 0)
      logs_[std::get<0>(key)].timings.push_back(std::move(timing));
    else
      log.drop("a collective of which neither time nor size and bandwidth are known");
  }
  for (run::CollectiveLog& made : logs_) {
    if (made.timings.empty()) continue;
    made.file = log.file();
    log.log().collectives.push_back(std::move(made));
  }
}

}  // namespace ergometer::importer
