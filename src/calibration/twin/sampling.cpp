#include "calibration/twin/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/telemetry/telemetry_updates.h"
#include "base/collection.h"
#include "run/device_temperature.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kSettlingS = 40, kHalfDegree = 0.5, kNanosecond = 1e-9;

double mean_of_samples(std::span<const run::Sample> samples) {
  return base::sum(samples, &run::Sample::value) / static_cast<double>(samples.size());
}

/// Of the mean of values that do not depend on each other.
double error_of_mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += std::pow(value - sum / n, 2);
  return std::sqrt(squares / (n - 1) / n);
}

std::pair<int64_t, int64_t> span_of(const run::DeviceLog& log) {
  std::pair<int64_t, int64_t> span = {std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int64_t>::min()};
  for (const run::Device& device : log.devices)
    for (const run::Series& series : device.series) {
      if (series.samples.empty()) continue;
      span.first = std::min(span.first, series.samples.front().time_ns);
      span.second = std::max(span.second, series.samples.back().time_ns);
    }
  return span;
}

const run::Series* heat_of(const run::Device& device) {
  if (device.kind != run::DeviceKind::kGpu) return nullptr;
  return device.find(run::temperature_metric(device));
}

const run::Series* power_of(const run::Device& device) {
  if (device.kind != run::DeviceKind::kGpu) return nullptr;
  for (const run::Metric metric :
       {run::Metric::kPower, run::Metric::kInstantPower, run::Metric::kAveragePower})
    if (const run::Series* series = device.find(metric)) return series;
  return nullptr;
}

/// Of temperatures, median of the GPUs.
size_t usual_readings(const run::DeviceLog& log) {
  std::vector<size_t> counts;
  for (const run::Device& device : log.devices)
    if (const run::Series* heat = heat_of(device)) counts.push_back(heat->samples.size());
  return base::lower_median(std::move(counts));
}

/// From the mean of the first `part` readings to that of the last, as far as it is more than half a
/// sensor's degree; of readings that are closer than kSettlingS, what heat would yet rise.
double rise_between(std::span<const run::Sample> all, size_t part) {
  const auto first = all.first(part), last = all.last(part);
  const double apart_s = kNanosecond *
                         static_cast<double>(last.front().time_ns + last.back().time_ns -
                                             first.front().time_ns - first.back().time_ns) /
                         2;
  if (!(apart_s > 0)) return 0;
  const double moved = mean_of_samples(last) - mean_of_samples(first);
  return std::copysign(std::max(0.0, std::abs(moved) - kHalfDegree), moved) *
         std::max(1.0, kSettlingS / apart_s);
}

}  // namespace

double sampling_error(std::span<const run::Sample> samples) {
  if (samples.size() < kFewestReadings) return 0;
  std::vector<double> single, stretches;
  for (const run::Sample& sample : samples) single.push_back(sample.value);
  for (size_t i = 0; i < kFewestReadings; ++i) {
    const size_t from = i * samples.size() / kFewestReadings;
    const size_t to = (i + 1) * samples.size() / kFewestReadings;
    stretches.push_back(mean_of_samples(samples.subspan(from, to - from)));
  }
  return std::max(error_of_mean(single), error_of_mean(stretches));
}

double unsettled_k(const run::DeviceLog& log) {
  std::vector<double> rises;
  for (const run::Device& device : log.devices) {
    const run::Series* heat = heat_of(device);
    if (heat == nullptr || heat->samples.size() < kFewestReadings) continue;
    const std::span<const run::Sample> all = heat->samples;
    const double ends = rise_between(all, all.size() / 8);
    const double halves = rise_between(all, all.size() / 2);
    rises.push_back(ends * halves <= 0 ? 0 : std::min(std::abs(ends), std::abs(halves)));
  }
  return base::lower_median(std::move(rises));
}

run::DeviceLog at_work(const run::DeviceLog& log) {
  constexpr int64_t kShortestRest = 5'000'000'000;
  std::vector<int64_t> starts, ends;
  for (const run::Device& device : log.devices) {
    const run::Series* power = power_of(device);
    if (power == nullptr || power->samples.size() < kFewestReadings) continue;
    std::vector<double> values = base::mapped(power->samples, &run::Sample::value);
    const double high = analysis::percentile(values, 0.95), level = (values.front() + high) / 2;
    const auto works = [&](const run::Sample& sample) { return sample.value >= level; };
    starts.push_back(std::ranges::find_if(power->samples, works)->time_ns);
    ends.push_back(
        std::ranges::find_if(power->samples.rbegin(), power->samples.rend(), works)->time_ns);
  }
  if (starts.empty()) return log;
  auto [from, to] = span_of(log);
  if (const int64_t start = base::lower_median(std::move(starts)); start - from >= kShortestRest)
    from = start;
  if (const int64_t end = base::lower_median(std::move(ends)); to - end >= kShortestRest) to = end;
  return run::readings_within(log, from, to);
}

Settled settled_part(run::DeviceLog log) {
  constexpr double kSettledK = 1;
  constexpr int64_t kLeastPart = 4;  // of the readings: a quarter
  constexpr double kShortestS = 8, kUnknownK = 3;
  Settled settled{std::move(log), 1, 0, ""};
  const auto [first, last] = span_of(settled.log);
  const double seconds = last > first ? kNanosecond * static_cast<double>(last - first) : 0;
  if (seconds < kShortestS) {
    if (settled.log.source == "simulated" || last < first) return settled;
    settled.off_k = kUnknownK;
    settled.short_of = fmt::format(
        "whether temperatures had settled: {:.1f} s are too short to tell; they are taken to be "
        "within {:.0f} K",
        seconds, kUnknownK);
    return settled;
  }
  settled.off_k = unsettled_k(settled.log);
  while (settled.part < kLeastPart && settled.off_k > kSettledK) {
    const auto [from, to] = span_of(settled.log);
    run::DeviceLog later = run::readings_within(settled.log, from + (to - from) / 2, to);
    if (usual_readings(later) < kFewestReadings) break;
    settled.log = std::move(later);
    settled.part *= 2;
    settled.off_k = unsettled_k(settled.log);
  }
  return settled;
}

}  // namespace ergometer::calibration::twin
