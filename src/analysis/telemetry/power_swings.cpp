#include "analysis/telemetry/power_swings.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "analysis/math/sum.h"
#include "analysis/telemetry/energy_error.h"
#include "analysis/telemetry/gpu_condition.h"
#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/telemetry_updates.h"
#include "analysis/telemetry/time_gaps.h"
#include "analysis/trace/step_breakdown.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// The power reading that averages least; samples without a time say nothing over time.
const run::Series* power_of(const run::Device& device) {
  for (const Metric metric : {Metric::kInstantPower, Metric::kPower, Metric::kAveragePower}) {
    const run::Series* series = device.find(metric);
    if (series != nullptr && series->samples.size() >= 2 &&
        series->samples.back().time_ns > series->samples.front().time_ns)
      return series;
  }
  return nullptr;
}

void add_levels(const std::vector<run::Sample>& points, const std::vector<TimeSpan>& gaps,
                PowerSwings& swings) {
  double sum = 0, squares = 0, time = 0;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const double dt = recorded_s({points[i].time_ns, points[i + 1].time_ns}, gaps);
    sum += points[i].value * dt;
    squares += points[i].value * points[i].value * dt;
    time += dt;
  }
  for (const run::Sample& point : points) swings.peak_w = std::max(swings.peak_w, point.value);
  if (!(time > 0)) return;
  swings.mean_w = sum / time;
  swings.deviation_w = std::sqrt(std::max(0.0, squares / time - swings.mean_w * swings.mean_w));
}

PowerSwings swings_of(const run::Device& device, const run::Series& power) {
  PowerSwings swings;
  swings.kind = device.kind;
  swings.rank = device.rank;
  swings.host = device.host;
  swings.name = device.name;
  const SensorUpdates updates = find_updates(power.samples);
  swings.resolution_s = updates.period_s > 0 ? updates.period_s : updates.reading_interval_s;
  std::vector<run::Sample> points = updates.points;
  for (run::Sample& point : points) point.value /= device.conversion_efficiency;
  add_levels(points, gaps_in(power.samples), swings);
  constexpr double kJitter = 1.2;  // updates of a 100 ms sensor are seen up to a reading later
  for (const double over_s : {0.1, 1.0})
    if (swings.resolution_s <= kJitter * over_s)
      swings.swings.push_back(largest_swing(points, kJitter * over_s));
  for (size_t i = 0; i < swings.swings.size(); ++i) swings.swings[i].over_s /= kJitter;
  return swings;
}

}  // namespace

Swing largest_swing(const std::vector<run::Sample>& points, double over_s) {
  Swing swing;
  swing.over_s = over_s;
  const auto window = static_cast<int64_t>(std::llround(over_s * 1e9));
  std::deque<size_t> lowest, highest;  // candidates within the window, the extreme first
  for (size_t i = 0; i < points.size(); ++i) {
    const double value = points[i].value;
    for (std::deque<size_t>* queue : {&lowest, &highest})
      while (!queue->empty() && points[i].time_ns - points[queue->front()].time_ns > window)
        queue->pop_front();
    if (!lowest.empty() && value - points[lowest.front()].value > swing.rise_w) {
      swing.rise_w = value - points[lowest.front()].value;
      swing.rise_at_ns = points[i].time_ns;
    }
    if (!highest.empty() && points[highest.front()].value - value > swing.fall_w) {
      swing.fall_w = points[highest.front()].value - value;
      swing.fall_at_ns = points[i].time_ns;
    }
    while (!lowest.empty() && points[lowest.back()].value >= value) lowest.pop_back();
    while (!highest.empty() && points[highest.back()].value <= value) highest.pop_back();
    lowest.push_back(i);
    highest.push_back(i);
  }
  return swing;
}

std::vector<PowerSwings> power_swings(const run::DeviceLog& log, bool beside_traces) {
  const GpuNames names(log, beside_traces);
  std::vector<PowerSwings> all;
  for (const run::Device& device : log.devices) {
    const run::Series* power = power_of(device);
    const bool draws =
        device.kind == run::DeviceKind::kGpu || device.kind == run::DeviceKind::kNode;
    if (!draws || power == nullptr) continue;
    all.push_back(swings_of(device, *power));
    if (device.kind == run::DeviceKind::kGpu) all.back().label = names.in_table(device);
  }
  return all;
}

std::vector<StepEnergy> step_energies(const std::vector<run::RankTrace>& ranks,
                                      const run::DeviceLog& log) {
  std::vector<StepEnergy> all;
  for (const run::RankTrace& trace : ranks) {
    const run::Device* gpu = gpu_of_rank(log, trace.rank);
    const run::Series* power = gpu == nullptr ? nullptr : power_of(*gpu);
    if (power == nullptr) continue;
    StepEnergy energy;
    energy.rank = trace.rank;
    energy.number = static_cast<size_t>(gpu - log.devices.data());
    energy.metric = power->metric;
    double sum = 0;
    int64_t steps_ns = 0;
    TimeSpan span{INT64_MAX, INT64_MIN};
    const std::vector<TimeSpan> gaps = gaps_in(power->samples);
    for (const StepStretch& step : step_stretches(trace)) {
      int64_t from = 0, to = 0;
      if (__builtin_add_overflow(trace.base_time_ns, step.start_ns, &from) ||
          __builtin_add_overflow(trace.base_time_ns, step.end_ns, &to) || to <= from ||
          from < power->samples.front().time_ns || to > power->samples.back().time_ns ||
          recorded_s({from, to}, gaps) < seconds(to - from))
        continue;
      const double of_all = energy_j(power->samples, from, to) / gpu->conversion_efficiency;
      const double joules = of_all / static_cast<double>(step.steps);
      energy.lowest_j = energy.steps == 0 ? joules : std::min(energy.lowest_j, joules);
      energy.highest_j = std::max(energy.highest_j, joules);
      sum += of_all;
      steps_ns += to - from;
      span = {std::min(span.from_ns, from), std::max(span.to_ns, to)};
      energy.steps += step.steps;
    }
    if (energy.steps == 0) continue;
    energy.mean_j = sum / static_cast<double>(energy.steps);
    const SensorUpdates updates = find_updates(power->samples);
    const double period_s = updates.period_s > 0 ? updates.period_s : updates.reading_interval_s;
    energy.error.unseen = unseen_between_readings(
        *gpu, {run::metric_info(power->metric).name, updates.points, period_s}, span,
        seconds(steps_ns));
    all.push_back(energy);
  }
  return all;
}

}  // namespace ergometer::analysis
