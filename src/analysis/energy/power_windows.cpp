#include "analysis/energy/power_windows.h"

#include <cmath>

#include "analysis/telemetry/telemetry_updates.h"

namespace ergometer::analysis {
namespace {

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// A counter's readings without those that repeat it; a step down begins anew.
std::vector<run::Sample> changes_of(const std::vector<run::Sample>& samples) {
  std::vector<run::Sample> changes;
  for (const run::Sample& sample : samples)
    if (changes.empty() || sample.value != changes.back().value) changes.push_back(sample);
  return changes;
}

/// Each update once: where a reading differs from the one before, and, where it stood for longer
/// than a period, every period.
std::vector<run::Sample> updates_of(const std::vector<run::Sample>& samples, double period_s) {
  std::vector<run::Sample> updates;
  const int64_t late = nanoseconds(1.5 * period_s);
  for (const run::Sample& sample : samples) {
    const bool changed = updates.empty() || sample.value != updates.back().value;
    if (changed || sample.time_ns - updates.back().time_ns > late) updates.push_back(sample);
  }
  return updates;
}

constexpr size_t kFewestSamples = 3;

}  // namespace

std::vector<PowerWindow> PowerWindows::windows(double length_s, double lag_s) const {
  std::vector<PowerWindow> result;
  const int64_t lag = nanoseconds(lag_s), length = nanoseconds(length_s);
  for (size_t i = 0; i < updates.size(); ++i) {
    const int64_t end = updates[i].time_ns - lag;
    if (!lengths_s.empty()) {
      result.push_back({end - length, end, updates[i].value});
      continue;
    }
    if (i == 0) continue;
    const run::Sample& before = updates[i - 1];
    const double seconds = static_cast<double>(updates[i].time_ns - before.time_ns) * 1e-9;
    if (updates[i].value >= before.value && seconds > 0)
      result.push_back({before.time_ns - lag, end, (updates[i].value - before.value) / seconds});
  }
  return result;
}

PowerWindows power_windows(const run::Device& device) {
  PowerWindows result;
  const run::Series* counter = device.find(run::Metric::kEnergy);
  if (counter != nullptr && changes_of(counter->samples).size() > kFewestSamples) {
    result.metric = run::metric_info(run::Metric::kEnergy).name;
    result.updates = changes_of(counter->samples);
    result.period_s =
        static_cast<double>(result.updates.back().time_ns - result.updates.front().time_ns) * 1e-9 /
        static_cast<double>(result.updates.size() - 1);
    return result;
  }
  for (const run::Metric metric :
       {run::Metric::kInstantPower, run::Metric::kPower, run::Metric::kAveragePower}) {
    const run::Series* series = device.find(metric);
    if (series == nullptr || series->samples.size() <= kFewestSamples) continue;
    const SensorUpdates found = find_updates(series->samples);
    result.metric = run::metric_info(metric).name;
    result.period_s = found.period_s > 0 ? found.period_s : found.reading_interval_s;
    result.updates = updates_of(series->samples, result.period_s);
    constexpr double kDriversMean = 1;  // s: NVML's power.draw since Ampere, field 185
    if (metric != run::Metric::kAveragePower) result.lengths_s.push_back(result.period_s);
    if (metric != run::Metric::kInstantPower && result.period_s < kDriversMean)
      result.lengths_s.push_back(kDriversMean);
    if (result.lengths_s.empty()) result.lengths_s.push_back(result.period_s);
    return result;
  }
  return result;
}

}  // namespace ergometer::analysis
