#include "record/bmc/node_readings.h"

#include <algorithm>

namespace ergometer::record {

using run::Metric;

namespace {

constexpr auto kGiven = {Metric::kPower, Metric::kInletTemperature, Metric::kOutletTemperature,
                         Metric::kFanSpeed, Metric::kFan};

std::optional<double> mean(const NodeReadings::Mean& of) {
  if (of.count == 0) return std::nullopt;
  return of.sum / static_cast<double>(of.count);
}

}  // namespace

std::optional<double> NodeReadings::value(Metric metric) const {
  switch (metric) {
    case Metric::kPower:
      if (total_w) return total_w;
      if (supplies_in_w.count == 0 || supplies_in_w.count < supplies) return std::nullopt;
      return supplies_in_w.sum;
    case Metric::kInletTemperature: return mean(inlet_c);
    case Metric::kOutletTemperature: return mean(outlet_c);
    case Metric::kFanSpeed: return mean(fan_rpm);
    case Metric::kFan: return mean(fan_percent);
    default: return std::nullopt;
  }
}

std::vector<Metric> NodeReadings::metrics() const {
  std::vector<Metric> given;
  for (const Metric metric : kGiven)
    if (value(metric)) given.push_back(metric);
  return given;
}

void NodeReadings::tell(std::span<const Metric> wanted, int64_t time_ns, Batch& batch) const {
  for (const Metric metric : wanted) {
    const run::MetricInfo& info = run::metric_info(metric);
    const auto reading = value(metric);
    if (reading && *reading >= info.lowest && *reading <= info.highest)
      batch.add(0, metric, time_ns, *reading);
  }
}

}  // namespace ergometer::record
