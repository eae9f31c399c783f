#include "report/timeline/trace_counters.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "base/json_writer.h"
#include "run/event_reasons.h"

namespace ergometer::report {
namespace {

using Add = std::function<void(const std::string&)>;

constexpr double kNanoseconds = 1e9;

/// One counter of one process.
struct Track {
  int64_t pid;
  std::string name, unit;
  double last = std::numeric_limits<double>::quiet_NaN();

  void set(int64_t time_ns, double value, const Add& add) {
    if (value == last) return;
    last = value;
    add(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":"{}","args":{{"{}":{}}}}})", pid,
                    trace_microseconds(time_ns), name, unit, base::shortest(value)));
  }
};

struct RankTracks {
  Track power, gpu, memory, clock;
  int64_t reasons = 0;  ///< that the rank ever had
  std::map<int64_t, Track> by_reason;

  explicit RankTracks(int64_t rank)
      : power{rank, "power", "W"},
        gpu{rank, "temperature GPU", "C"},
        memory{rank, "temperature HBM", "C"},
        clock{rank, "SM clock", "MHz"} {}
};

void add_reading(RankTracks& tracks, const run::Telemetry& t, const Add& add) {
  tracks.power.set(t.time_ns, t.power_w, add);
  tracks.gpu.set(t.time_ns, t.gpu_c, add);
  tracks.memory.set(t.time_ns, t.memory_c, add);
  tracks.clock.set(t.time_ns, t.sm_clock_mhz, add);
  for (auto& [bit, track] : tracks.by_reason)
    track.set(t.time_ns, (t.event_reasons & bit) != 0 ? 1 : 0, add);
}

void add_cluster(const run::Run& run, int64_t pid, const Add& add) {
  if (run.cluster_power.watts.empty()) return;
  add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"cluster"}}}})",
                  pid));
  add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":-1}}}})",
                  pid));
  Track power{pid, "power at the plug", "W"};
  for (size_t i = 0; i < run.cluster_power.watts.size(); ++i) {
    const double start_s = static_cast<double>(i) * run.cluster_power.interval_s;
    power.set(std::llround(start_s * kNanoseconds), run.cluster_power.watts[i], add);
  }
}

}  // namespace

void append_microseconds(int64_t ns, std::string& line) {
  if (ns < 0) line += '-';
  const int64_t size = ns < 0 ? -ns : ns;
  fmt::format_to(std::back_inserter(line), FMT_COMPILE("{}.{:03}"), size / 1000, size % 1000);
}

std::string trace_microseconds(int64_t ns) {
  std::string text;
  append_microseconds(ns, text);
  return text;
}

void add_counters(const run::Run& run, int64_t cluster_pid,
                  const std::function<bool(int64_t)>& is_shown, const Add& add) {
  std::map<int64_t, RankTracks> ranks;
  for (const run::Telemetry& t : run.telemetry)
    if (is_shown(t.rank))
      ranks.try_emplace(t.rank, t.rank).first->second.reasons |= t.event_reasons;
  for (auto& [rank, tracks] : ranks)
    for (const run::EventReasonName& reason : run::kEventReasons)
      if ((tracks.reasons & reason.bit) != 0)
        tracks.by_reason.emplace(reason.bit, Track{rank, std::string(reason.name), "active"});
  for (const run::Telemetry& t : run.telemetry)
    if (const auto it = ranks.find(t.rank); it != ranks.end()) add_reading(it->second, t, add);
  add_cluster(run, cluster_pid, add);
}

}  // namespace ergometer::report
