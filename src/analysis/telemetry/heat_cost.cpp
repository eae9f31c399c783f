#include "analysis/telemetry/heat_cost.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/throttling.h"
#include "analysis/telemetry/time_gaps.h"
#include "base/collection.h"
#include "run/event_reasons.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

constexpr const char* kPowerCapReason = "sw_power_cap";

/// The reading that stands at a time; nothing before the first.
const run::Sample* standing(const run::Series& series, int64_t time_ns) {
  const auto after =
      std::upper_bound(series.samples.begin(), series.samples.end(), time_ns,
                       [](int64_t t, const run::Sample& s) { return t < s.time_ns; });
  return after == series.samples.begin() ? nullptr : &*(after - 1);
}

struct Sums {
  double clock_ns = 0, ns = 0;
  double mean() const { return ns > 0 ? clock_ns / ns : 0; }
};

/// While nothing held the clock, the power cap alone, anything else.
struct Clocks {
  Sums free, capped, held;
  std::map<int64_t, double> held_by_ns;  ///< by the bit of a reason
  double ns() const { return free.ns + capped.ns + held.ns; }
};

Clocks clocks_of(const run::Device& gpu) {
  const run::Series& clock = *gpu.find(Metric::kSmClock);
  const run::Series& reasons = *gpu.find(Metric::kEventReasons);
  const run::Series* busy = gpu.find(Metric::kGpuUtilization);
  constexpr int64_t kIdle = 0x1, kPowerCap = 0x4;
  const int64_t longest_ns = longest_distance_ns(clock.samples);
  Clocks clocks;
  for (size_t i = 0; i + 1 < clock.samples.size(); ++i) {
    const run::Sample& reading = clock.samples[i];
    const int64_t stands_ns = clock.samples[i + 1].time_ns - reading.time_ns;
    if (stands_ns > longest_ns) continue;
    const run::Sample* why = standing(reasons, reading.time_ns);
    const run::Sample* use = busy == nullptr ? nullptr : standing(*busy, reading.time_ns);
    if (why == nullptr || (use != nullptr && use->value == 0)) continue;
    const auto bits = static_cast<int64_t>(why->value);
    if ((bits & kIdle) != 0) continue;
    const int64_t holding = throttling_causes(bits);
    Sums& sums = holding == 0 ? clocks.free : holding == kPowerCap ? clocks.capped : clocks.held;
    const auto ns = static_cast<double>(stands_ns);
    sums.clock_ns += reading.value * ns;
    sums.ns += ns;
    if (&sums != &clocks.held) continue;
    for (const run::EventReasonName& reason : run::kEventReasons)
      if ((holding & reason.bit & ~kPowerCap) != 0) clocks.held_by_ns[reason.bit] += ns;
  }
  return clocks;
}

/// The reason that held longest, other than the power cap; of equally long ones the most severe,
/// which come last.
std::string longest_but_cap(const Clocks& clocks) {
  std::string_view longest;
  double longest_ns = 0;
  for (const run::EventReasonName& reason : run::kEventReasons) {
    const double ns = base::value_or(clocks.held_by_ns, reason.bit, 0.0);
    if (ns <= 0 || ns < longest_ns) continue;
    longest = reason.name;
    longest_ns = ns;
  }
  return std::string(longest);
}

/// The fastest mean clocks of a kind of GPU.
struct Fastest {
  double free = 0, capped = 0;
};

/// `own` and `peers` where they are known, the first of them.
bool take_clock(HeatCost& cost, double own, double peers) {
  cost.free_clock_is_peers = own <= 0;
  cost.free_clock_mhz = own > 0 ? own : peers;
  return cost.free_clock_mhz > 0;
}

}  // namespace

std::vector<HeatCost> heat_costs(const run::DeviceLog& log, bool beside_traces) {
  const GpuNames gpu_names(log, beside_traces);
  std::vector<std::pair<const run::Device*, Clocks>> gpus;
  std::map<std::string, Fastest> fastest;
  for (const run::Device& gpu : log.devices) {
    if (gpu.kind != run::DeviceKind::kGpu || gpu.find(Metric::kSmClock) == nullptr ||
        gpu.find(Metric::kEventReasons) == nullptr)
      continue;
    const Clocks clocks = clocks_of(gpu);
    Fastest& of_kind = fastest[gpu.name];
    of_kind.free = std::max(of_kind.free, clocks.free.mean());
    of_kind.capped = std::max(of_kind.capped, clocks.capped.mean());
    gpus.emplace_back(&gpu, clocks);
  }
  std::vector<HeatCost> costs;
  for (const auto& [gpu, clocks] : gpus) {
    for (const Sums* throttled : {&clocks.held, &clocks.capped}) {
      if (!(throttled->ns > 0)) continue;
      const bool by_cap = throttled == &clocks.capped;
      const Fastest& peers = fastest[gpu->name];
      HeatCost& cost = costs.emplace_back();
      cost.rank = gpu->rank;
      cost.host = gpu->host;
      cost.host_label = gpu_names.host_of(*gpu);
      cost.gpu = gpu_names.of(*gpu);
      cost.throttled_fraction = throttled->ns / clocks.ns();
      cost.throttled_clock_mhz = throttled->mean();
      cost.reason = by_cap ? kPowerCapReason : longest_but_cap(clocks);
      if (!take_clock(cost, clocks.free.mean(), peers.free) && !by_cap)
        cost.free_clock_is_capped = take_clock(cost, clocks.capped.mean(), peers.capped);
      if (cost.free_clock_mhz > cost.throttled_clock_mhz)
        cost.lost_fraction =
            cost.throttled_fraction * (1 - cost.throttled_clock_mhz / cost.free_clock_mhz);
    }
  }
  std::ranges::stable_sort(
      costs, [](const auto& a, const auto& b) { return a.lost_fraction > b.lost_fraction; });
  return costs;
}

}  // namespace ergometer::analysis
