#include "engine/telemetry_bands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "physics/sensor.h"

namespace ergometer::engine {
namespace {

struct Weighted {
  double value = 0, weight = 0;
};

run::TelemetryBand band(run::Metric metric, double time_s, std::vector<Weighted>& values) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double all = 0;
  for (const Weighted& v : values) all += v.weight;
  constexpr std::array kShares = {0.05, 0.5, 0.95};
  std::array<double, kShares.size()> found{};
  found.fill(values.back().value);
  double below = 0;
  size_t next = 0;
  for (const Weighted& v : values) {
    below += v.weight;
    while (next < kShares.size() && below >= kShares[next] * all) found[next++] = v.value;
  }
  return {metric,   std::llround(time_s * 1e9), values.front().value, found[0], found[1],
          found[2], values.back().value};
}

}  // namespace

void add_bands(const FleetMoment& moment, const Fleet& fleet,
               std::vector<run::TelemetryBand>& bands) {
  std::vector<Weighted> values;
  const auto add = [&](run::Metric metric, const auto& value) {
    values.clear();
    for (size_t gpu = 0; gpu < fleet.role.size(); ++gpu)
      if (fleet.role[gpu] >= 0) values.push_back({value(gpu), fleet.weight_of(gpu)});
    if (!values.empty()) bands.push_back(band(metric, moment.time_s, values));
  };
  add(run::Metric::kInstantPower, [&](size_t gpu) {
    return std::round(moment.watts[gpu] * fleet.silicon[gpu].sensor_gain * 1e3) / 1e3;
  });
  add(run::Metric::kGpuTemperature,
      [&](size_t gpu) { return physics::reported_c(moment.die_c[gpu]); });
  add(run::Metric::kMemoryTemperature,
      [&](size_t gpu) { return physics::reported_c(moment.memory_c[gpu]); });
  add(run::Metric::kSmClock,
      [&](size_t gpu) { return std::round(moment.clock_hz[gpu] / 1e3) / 1e3; });
}

void sort_bands(std::vector<run::TelemetryBand>& bands) {
  std::stable_sort(bands.begin(), bands.end(), [](const auto& a, const auto& b) {
    return std::pair(a.metric, a.time_ns) < std::pair(b.metric, b.time_ns);
  });
}

}  // namespace ergometer::engine
