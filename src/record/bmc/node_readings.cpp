#include "record/bmc/node_readings.h"

namespace ergometer::record {

using run::Metric;

namespace {

constexpr auto kGiven = {Metric::kPower, Metric::kInletTemperature, Metric::kOutletTemperature,
                         Metric::kFanSpeed, Metric::kFan};

}  // namespace

std::optional<double> NodeReadings::value(Metric metric) const {
  switch (metric) {
    case Metric::kPower:
      if (total_w) return total_w;
      if (supplies_in_w.count == 0 || supplies_in_w.count < supplies) return std::nullopt;
      return supplies_in_w.sum;
    case Metric::kInletTemperature: return inlet_c.get();
    case Metric::kOutletTemperature: return outlet_c.get();
    case Metric::kFanSpeed: return fan_rpm.get();
    case Metric::kFan: return fan_percent.get();
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
    const auto reading = value(metric);
    if (reading && run::metric_info(metric).reads(*reading))
      batch.add(0, metric, time_ns, *reading);
  }
}

}  // namespace ergometer::record
