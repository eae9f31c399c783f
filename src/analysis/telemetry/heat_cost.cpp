#include "analysis/telemetry/heat_cost.h"

#include <algorithm>
#include <map>

#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/throttling.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

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
struct Clocks {
  Sums throttled, free;
};

Clocks clocks_of(const run::Device& gpu) {
  const run::Series& clock = *gpu.find(Metric::kSmClock);
  const run::Series& reasons = *gpu.find(Metric::kEventReasons);
  const run::Series* busy = gpu.find(Metric::kGpuUtilization);
  constexpr int64_t kIdle = 0x1;
  Clocks clocks;
  for (size_t i = 0; i + 1 < clock.samples.size(); ++i) {
    const run::Sample& reading = clock.samples[i];
    const run::Sample* why = standing(reasons, reading.time_ns);
    const run::Sample* use = busy == nullptr ? nullptr : standing(*busy, reading.time_ns);
    if (why == nullptr || (use != nullptr && use->value == 0)) continue;
    const auto bits = static_cast<int64_t>(why->value);
    if ((bits & kIdle) != 0) continue;
    Sums& sums = (bits & kThrottlingReasons) != 0 ? clocks.throttled : clocks.free;
    const auto ns = static_cast<double>(clock.samples[i + 1].time_ns - reading.time_ns);
    sums.clock_ns += reading.value * ns;
    sums.ns += ns;
  }
  return clocks;
}

}  // namespace

std::vector<HeatCost> heat_costs(const run::DeviceLog& log, bool beside_traces) {
  const GpuNames gpu_names(log, beside_traces);
  std::vector<HeatCost> costs;
  std::vector<std::string> names;
  std::map<std::string, double> fastest;
  for (const run::Device& gpu : log.devices) {
    if (gpu.kind != run::DeviceKind::kGpu || gpu.find(Metric::kSmClock) == nullptr ||
        gpu.find(Metric::kEventReasons) == nullptr)
      continue;
    const Clocks clocks = clocks_of(gpu);
    fastest[gpu.name] = std::max(fastest[gpu.name], clocks.free.mean());
    if (!(clocks.throttled.ns > 0)) continue;
    HeatCost cost;
    cost.rank = gpu.rank;
    cost.host = gpu.host;
    cost.host_label = gpu_names.host_of(gpu);
    cost.gpu = gpu_names.of(gpu);
    cost.throttled_fraction = clocks.throttled.ns / (clocks.throttled.ns + clocks.free.ns);
    cost.throttled_clock_mhz = clocks.throttled.mean();
    cost.free_clock_mhz = clocks.free.mean();
    const auto& samples = gpu.find(Metric::kSmClock)->samples;
    if (const auto throttling = throttling_between(*gpu.find(Metric::kEventReasons),
                                                   samples.front().time_ns, samples.back().time_ns))
      cost.reason = throttling->main();
    costs.push_back(cost);
    names.push_back(gpu.name);
  }
  for (size_t i = 0; i < costs.size(); ++i) {
    HeatCost& cost = costs[i];
    cost.free_clock_is_peers = cost.free_clock_mhz <= 0;
    if (cost.free_clock_is_peers) cost.free_clock_mhz = fastest[names[i]];
    if (cost.free_clock_mhz > cost.throttled_clock_mhz)
      cost.lost_fraction =
          cost.throttled_fraction * (1 - cost.throttled_clock_mhz / cost.free_clock_mhz);
  }
  std::ranges::stable_sort(
      costs, [](const auto& a, const auto& b) { return a.lost_fraction > b.lost_fraction; });
  return costs;
}

}  // namespace ergometer::analysis
