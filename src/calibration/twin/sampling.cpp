#include "calibration/twin/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/collection.h"
#include "run/device_temperature.h"

namespace ergometer::calibration::twin {
namespace {

constexpr double kSettlingS = 40, kNanosecond = 1e-9;

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

double rise_to_come_k(const run::DeviceLog& log) {
  std::vector<double> rises;
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    const run::Series* heat = device.find(run::temperature_metric(device));
    if (heat == nullptr || heat->samples.size() < kFewestReadings) continue;
    const std::span<const run::Sample> all = heat->samples;
    const size_t half = all.size() / 2;
    const double apart_s =
        kNanosecond * static_cast<double>(all.back().time_ns - all.front().time_ns) / 2;
    if (apart_s > 0)
      rises.push_back((mean_of_samples(all.subspan(half)) - mean_of_samples(all.first(half))) *
                      kSettlingS / apart_s);
  }
  if (rises.empty()) return 0;
  const auto middle = rises.begin() + (std::ssize(rises) - 1) / 2;
  std::ranges::nth_element(rises, middle);
  return *middle;
}

run::DeviceLog later_half(const run::DeviceLog& log) {
  const auto [from, to] = span_of(log);
  return run::readings_within(log, from + (to - from) / 2, to);
}

}  // namespace ergometer::calibration::twin
