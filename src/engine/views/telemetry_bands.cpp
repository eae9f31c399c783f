#include "engine/views/telemetry_bands.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/collection.h"

namespace ergometer::engine {
namespace {

struct Weighted {
  double value = 0, weight = 0;
};

run::TelemetryBand band(run::Metric metric, int64_t time_ns, std::vector<Weighted>& values) {
  std::ranges::sort(values, {}, &Weighted::value);
  const double all = base::sum(values, [&](const Weighted& v) { return v.weight; });
  constexpr std::array kShares = {0.05, 0.5, 0.95};
  std::array<double, kShares.size()> found{};
  found.fill(values.back().value);
  double below = 0;
  size_t next = 0;
  for (const Weighted& v : values) {
    below += v.weight;
    while (next < kShares.size() && below >= kShares[next] * all) found[next++] = v.value;
  }
  return {metric, time_ns, values.front().value, found[0], found[1], found[2], values.back().value};
}

}  // namespace

void add_bands(std::span<const run::Telemetry> readings, std::span<const size_t> gpus,
               const Fleet& fleet, std::vector<run::TelemetryBand>& bands) {
  std::vector<Weighted> values;
  const auto add = [&](run::Metric metric, double run::Telemetry::* value) {
    values.clear();
    for (size_t i = 0; i < gpus.size(); ++i)
      if (fleet.role[gpus[i]] >= 0)
        values.push_back({readings[i].*value, fleet.weight_of(gpus[i])});
    if (!values.empty()) bands.push_back(band(metric, readings.front().time_ns, values));
  };
  add(run::Metric::kInstantPower, &run::Telemetry::power_w);
  add(run::Metric::kGpuTemperature, &run::Telemetry::gpu_c);
  add(run::Metric::kMemoryTemperature, &run::Telemetry::memory_c);
  add(run::Metric::kSmClock, &run::Telemetry::sm_clock_mhz);
}

void sort_bands(std::vector<run::TelemetryBand>& bands) {
  std::ranges::stable_sort(bands, [](const auto& a, const auto& b) {
    return std::pair(a.metric, a.time_ns) < std::pair(b.metric, b.time_ns);
  });
}

}  // namespace ergometer::engine
