#include "analysis/telemetry/gpu_condition.h"

#include <algorithm>
#include <vector>

#include "analysis/telemetry/telemetry_updates.h"
#include "analysis/telemetry/throttling.h"
#include "analysis/telemetry/time_gaps.h"
#include "run/device_temperature.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// Calls `visit(value, nanoseconds)` for every reading that stands within a time; a gap in the
/// recording ends it.
template <class Visit>
void hold_between(const run::Series& series, int64_t from_ns, int64_t to_ns, Visit visit) {
  const std::vector<run::Sample>& samples = series.samples;
  const int64_t longest_ns = longest_distance_ns(samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t until = i + 1 < samples.size() ? samples[i + 1].time_ns : samples[i].time_ns;
    const int64_t from = std::max(from_ns, samples[i].time_ns), to = std::min(to_ns, until);
    if (to > from && until - samples[i].time_ns <= longest_ns)
      visit(samples[i].value, static_cast<double>(to - from));
  }
}

void add_throttling(const run::Device& gpu, int64_t from_ns, int64_t to_ns,
                    GpuCondition& condition) {
  const run::Series* reasons = gpu.find(Metric::kEventReasons);
  if (reasons == nullptr) return;
  const auto throttling =
      throttling_between(*reasons, from_ns, to_ns, longest_distance_ns(reasons->samples));
  if (!throttling) return;
  condition.throttled_fraction = throttling->fraction;
  condition.reason = throttling->main();
}

/// Mean of a series from one time to another, each reading standing until the next one; nothing
/// where no reading stands.
std::optional<double> mean_between(const run::Series& series, int64_t from_ns, int64_t to_ns) {
  double sum = 0, time = 0;
  hold_between(series, from_ns, to_ns, [&](double value, double dt) {
    sum += value * dt;
    time += dt;
  });
  if (!(time > 0)) return std::nullopt;
  return sum / time;
}

std::optional<double> mean_of(const run::Device& gpu, Metric metric, int64_t from, int64_t to) {
  const run::Series* series = gpu.find(metric);
  return series == nullptr ? std::nullopt : mean_between(*series, from, to);
}

std::optional<double> median_of_others(const run::DeviceLog& log, const run::Device& gpu,
                                       Metric metric, int64_t from, int64_t to) {
  std::vector<double> means;
  for (const run::Device& other : log.devices)
    if (other.kind == run::DeviceKind::kGpu && &other != &gpu)
      if (const auto mean = mean_of(other, metric, from, to)) means.push_back(*mean);
  if (means.empty()) return std::nullopt;
  return percentile(means, 0.5);
}

}  // namespace

const run::Device* gpu_of_rank(const run::DeviceLog& log, int64_t rank) {
  for (const run::Device& device : log.devices)
    if (device.kind == run::DeviceKind::kGpu && device.rank == rank) return &device;
  return nullptr;
}

std::optional<GpuCondition> gpu_condition(const run::DeviceLog& log, int64_t rank, int64_t from_ns,
                                          int64_t to_ns) {
  const run::Device* gpu = gpu_of_rank(log, rank);
  if (gpu == nullptr) return std::nullopt;
  GpuCondition condition;
  condition.sm_clock_mhz = mean_of(*gpu, Metric::kSmClock, from_ns, to_ns);
  const Metric temperature = run::temperature_metric(*gpu);
  condition.gpu_c = mean_of(*gpu, temperature, from_ns, to_ns);
  condition.others_clock_mhz = median_of_others(log, *gpu, Metric::kSmClock, from_ns, to_ns);
  condition.others_gpu_c = median_of_others(log, *gpu, temperature, from_ns, to_ns);
  add_throttling(*gpu, from_ns, to_ns, condition);
  if (!condition.sm_clock_mhz && !condition.gpu_c && !condition.throttled_fraction)
    return std::nullopt;
  return condition;
}

std::optional<GpuCondition> gpu_condition(const run::DeviceLog& log, const run::RankTrace& trace) {
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const run::GpuEvent& event : trace.events) {
    from = std::min(from, event.start_ns);
    to = std::max(to, event.end_ns());
  }
  if (from >= to) return std::nullopt;
  return gpu_condition(log, trace.rank, trace.base_time_ns + from, trace.base_time_ns + to);
}

}  // namespace ergometer::analysis
