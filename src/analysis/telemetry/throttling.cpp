#include "analysis/telemetry/throttling.h"

#include <algorithm>
#include <array>

#include "analysis/math/sum.h"
#include "analysis/telemetry/telemetry_updates.h"
#include "analysis/telemetry/time_gaps.h"
#include "run/event_reasons.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

constexpr int64_t kHwSlowdown = 0x8, kHwReasons = 0x40 | 0x80;

/// Severe reasons stand behind harmless ones in NVML's list.
void sort_longest_first(std::vector<ReasonShare>& reasons) {
  std::ranges::reverse(reasons);
  std::ranges::stable_sort(reasons,
                           [](const auto& a, const auto& b) { return a.fraction > b.fraction; });
}

constexpr std::array kAdvice = std::to_array<ReasonAdvice>({
    {"sw_power_cap", "a higher power limit, or accept it: work per joule is better below the cap.",
     "ergometer simulate MODEL --cluster CLUSTER --power-cap W"},
    {"sw_thermal_slowdown", "inlet temperature, fans, dust and the GPU's place in the airflow.",
     "ergometer simulate MODEL --cluster CLUSTER --inlet-c 20"},
    {"hw_thermal_slowdown",
     "take it out of the job: the hardware guards itself against heat that software could not "
     "hold. Inlet temperature, fans or coolant flow, dust, the heat sink's seat.",
     "ergometer simulate MODEL --cluster CLUSTER --inlet-c 20"},
    {"hw_power_brake_slowdown",
     "the node's power supplies (one failed, not redundant) and their cables, the rack's PDU and "
     "its power budget: a signal from outside holds the clock.",
     "the node's event log (ipmitool sel list); ergometer simulate MODEL --cluster CLUSTER "
     "--override nodeN.power_brake=on"},
    {"hw_slowdown",
     "find out which: heat, a power brake from outside or a draw that tripped the board's own "
     "protection. Beside it temperatures, power supplies and the driver's messages (Xid).",
     "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER on its host"},
});

/// What each counter of time by reason that a GPU has tells, also that its reason never held.
std::vector<ReasonShare> all_counters(const run::Device& gpu) {
  struct Counter {
    Metric metric;
    const char* reason;
  };
  constexpr std::array kCounters = std::to_array<Counter>({
      {Metric::kSwPowerCapTime, "sw_power_cap"},
      {Metric::kSyncBoostTime, "sync_boost"},
      {Metric::kSwThermalTime, "sw_thermal_slowdown"},
      {Metric::kHwThermalTime, "hw_thermal_slowdown"},
      {Metric::kHwPowerBrakeTime, "hw_power_brake_slowdown"},
  });
  std::vector<ReasonShare> shares;
  for (const Counter& counter : kCounters) {
    const run::Series* series = gpu.find(counter.metric);
    if (series == nullptr || series->samples.size() < 2) continue;
    const int64_t from = series->samples.front().time_ns, to = series->samples.back().time_ns;
    const std::vector<TimeSpan> recorded = without({from, to}, gaps_in(series->samples));
    if (recorded.empty()) continue;
    double held = 0;
    for (const TimeSpan& span : recorded)
      held += counted(series->samples, span.from_ns, span.to_ns);
    shares.push_back({counter.reason, std::min(1.0, held / length_s(recorded))});
  }
  return shares;
}

}  // namespace

int64_t throttling_causes(int64_t bits) {
  return (bits & kHwReasons) != 0 ? bits & kThrottlingReasons & ~kHwSlowdown
                                  : bits & kThrottlingReasons;
}

std::optional<Throttling> throttling_between(const run::Series& reasons, int64_t from_ns,
                                             int64_t to_ns, int64_t longest_ns) {
  std::array<double, run::kEventReasons.size()> held{};
  double throttled = 0, time = 0;
  const std::vector<run::Sample>& samples = reasons.samples;
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const int64_t from = std::max(from_ns, samples[i].time_ns),
                  to = std::min(to_ns, samples[i + 1].time_ns);
    if (to <= from || samples[i + 1].time_ns - samples[i].time_ns > longest_ns) continue;
    const int64_t bits = throttling_causes(static_cast<int64_t>(samples[i].value));
    const double dt = seconds(to - from);
    time += dt;
    if (bits != 0) throttled += dt;
    for (size_t r = 0; r < held.size(); ++r)
      if ((bits & run::kEventReasons[r].bit) != 0) held[r] += dt;
  }
  if (!(time > 0)) return std::nullopt;
  Throttling result{throttled / time, {}};
  for (size_t r = 0; r < held.size(); ++r)
    if (held[r] > 0)
      result.reasons.push_back({std::string(run::kEventReasons[r].name), held[r] / time});
  sort_longest_first(result.reasons);
  return result;
}

std::vector<ReasonShare> counted_reasons(const run::Device& gpu) {
  std::vector<ReasonShare> shares = all_counters(gpu);
  std::erase_if(shares, [](const ReasonShare& share) { return share.fraction <= 0; });
  return shares;
}

std::optional<Throttling> throttling_of(const run::Device& gpu) {
  const run::Series* reasons = gpu.find(Metric::kEventReasons);
  if (reasons != nullptr && reasons->samples.size() >= 2)
    return throttling_between(*reasons, reasons->samples.front().time_ns,
                              reasons->samples.back().time_ns,
                              longest_distance_ns(reasons->samples));
  Throttling result{0, all_counters(gpu)};
  std::erase_if(result.reasons, [](const auto& share) { return share.reason == "sync_boost"; });
  if (result.reasons.empty()) return std::nullopt;
  sort_longest_first(result.reasons);
  result.fraction = result.reasons.front().fraction;
  std::erase_if(result.reasons, [](const auto& share) { return share.fraction <= 0; });
  return result;
}

const ReasonAdvice& advice_for(std::string_view reason) {
  const auto at = std::ranges::find(kAdvice, reason, &ReasonAdvice::reason);
  return at == kAdvice.end() ? kAdvice.back() : *at;
}

}  // namespace ergometer::analysis
