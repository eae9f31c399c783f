#include "analysis/telemetry/telemetry_meter.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/math/sum.h"
#include "analysis/telemetry/telemetry_duty.h"
#include "analysis/telemetry/telemetry_updates.h"

namespace ergometer::analysis {
namespace {

using run::Metric;
using SampleList = std::vector<run::Sample>;

constexpr int64_t kMs = 1'000'000, kQuarterHour = int64_t{900} * 1'000'000'000;

struct Span {
  int64_t from = 0, to = 0;
  int64_t length() const { return to - from; }
};

Span common(const SampleList& a, const SampleList& b, int64_t shift) {
  return {std::max(a.front().time_ns, b.front().time_ns + shift),
          std::min(a.back().time_ns, b.back().time_ns + shift)};
}

/// Whole quarters of an hour that make the two overlap most; the fewest of them.
std::optional<int64_t> zone_shift(const SampleList& sensor, const SampleList& meter) {
  constexpr int64_t kMost = 56;
  int64_t best = 0, longest = 0;
  for (int64_t step = 0; step <= kMost; ++step) {
    for (const int64_t quarters : {step, -step}) {
      const int64_t length = common(sensor, meter, quarters * kQuarterHour).length();
      if (length <= longest) continue;
      longest = length;
      best = quarters * kQuarterHour;
    }
  }
  if (longest <= 0) return std::nullopt;
  return best;
}

/// Means of a series over any span, fast.
class Integral {
 public:
  explicit Integral(const SampleList& samples) : samples_(samples), sum_(samples.size(), 0) {
    for (size_t i = 1; i < samples.size(); ++i)
      sum_[i] = sum_[i - 1] + 0.5 * (samples[i].value + samples[i - 1].value) *
                                  seconds(samples[i].time_ns - samples[i - 1].time_ns);
  }
  double between(int64_t from, int64_t to) const { return until(to) - until(from); }
  double mean(int64_t from, int64_t to) const { return between(from, to) / seconds(to - from); }

 private:
  double until(int64_t time) const {
    const auto after = std::upper_bound(samples_.begin(), samples_.end(), time,
                                        [](int64_t t, const auto& s) { return t < s.time_ns; });
    if (after == samples_.begin()) return 0;
    const auto i = static_cast<size_t>(after - samples_.begin()) - 1;
    const run::Sample& at = samples_[i];
    return sum_[i] + 0.5 * (at.value + value_at(samples_, time)) * seconds(time - at.time_ns);
  }
  const SampleList& samples_;
  std::vector<double> sum_;
};

/// How well readings follow the meter's mean over a window that ends where they were seen, when the
/// meter's clock is shifted: correlation.
double agreement(const SensorUpdates& updates, const Integral& meter, Span within, int64_t shift,
                 int64_t window) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  // More points than this say no more.
  constexpr size_t kEnough = 5000;
  const size_t stride = 1 + updates.points.size() / kEnough;
  for (size_t i = 0; i < updates.points.size(); i += stride) {
    const run::Sample& point = updates.points[i];
    if (point.time_ns - window < within.from || point.time_ns > within.to) continue;
    const double a = meter.mean(point.time_ns - window - shift, point.time_ns - shift);
    const double b = point.value;
    n += 1;
    x += a;
    y += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  const double va = n * xx - x * x, vb = n * yy - y * y;
  return va > 0 && vb > 0 ? (n * xy - x * y) / std::sqrt(va * vb) : 0;
}

/// What is left of the clocks' offset once the zone is known, within 0.3 s.
int64_t fine_shift(const SensorUpdates& updates, const Integral& meter, Span within, int64_t zone) {
  constexpr int64_t kMost = 300, kStep = 5;
  int64_t best = 0;
  double best_agreement = 0;
  for (int64_t ms = -kMost; ms <= kMost; ms += kStep) {
    for (const int64_t window : {int64_t{10}, int64_t{25}, int64_t{100}}) {
      const double value = agreement(updates, meter, within, zone + ms * kMs, window * kMs);
      if (value <= best_agreement) continue;
      best_agreement = value;
      best = ms * kMs;
    }
  }
  return best;
}

/// The sensor's reading over the meter's where the sensor stays quiet for long.
double quiet_gain(const SensorUpdates& updates, const Integral& meter, Span within, int64_t shift) {
  double sensor = 0, measured = 0;
  for (const Quiet& quiet : quiet_stretches(updates.points, updates.period_s)) {
    // Its ends may reach into the load.
    const size_t from = quiet.from + 1, to = quiet.to - 1;
    if (to <= from) continue;
    const int64_t start = std::max(updates.points[from].time_ns, within.from);
    const int64_t end = std::min(updates.points[to - 1].time_ns, within.to);
    if (seconds(end - start) < 5 * updates.period_s) continue;
    sensor += energy_j(updates.points, start, end);
    // A reading stands for what was before it: the meter is taken one period earlier.
    measured += meter.between(start - shift, end - shift);
  }
  return measured > 0 ? sensor / measured : 0;
}

MeterReport compare(const run::Device& device, const run::Device& meter_device,
                    const SampleList& sensor, const SampleList& meter, int64_t zone) {
  MeterReport report;
  report.meter = meter_device.file;
  report.gpu_file = device.file;
  report.rank = device.rank;
  const SensorUpdates updates = find_updates(sensor);
  const Integral integral(meter);
  const int64_t shift = zone + fine_shift(updates, integral, common(sensor, meter, zone), zone);
  const Span span = common(sensor, meter, shift);
  report.clock_offset_s = seconds(shift);
  report.start_s = seconds(span.from - sensor.front().time_ns);
  report.common_s = seconds(span.length());
  report.meter_energy_j = integral.between(span.from - shift, span.to - shift);
  report.sensor_energy_j = energy_j(updates.points, span.from, span.to);
  report.sensor_error_pct = 100 * (report.sensor_energy_j / report.meter_energy_j - 1);
  report.gain = quiet_gain(updates, integral, span, shift);
  if (!(report.gain > 0)) return report;
  const auto stretches = repeating_stretches(updates.points, updates.period_s);
  report.corrected_energy_j =
      (report.sensor_energy_j + correction_j(stretches, span.from, span.to)) / report.gain;
  report.corrected_error_pct = 100 * (report.corrected_energy_j / report.meter_energy_j - 1);
  return report;
}

}  // namespace

std::vector<MeterReport> compare_meters(const run::DeviceLog& log) {
  std::vector<MeterReport> reports;
  for (const run::Device& meter : log.devices) {
    const run::Series* truth = meter.find(Metric::kPower);
    if (meter.kind != run::DeviceKind::kMeter || truth == nullptr) continue;
    for (const run::Device& device : log.devices) {
      if (device.kind != run::DeviceKind::kGpu) continue;
      const run::Series* sensor = device.find(Metric::kInstantPower);
      if (sensor == nullptr) sensor = device.find(Metric::kPower);
      constexpr size_t kFewest = 8;
      if (sensor == nullptr || sensor->samples.size() < kFewest || truth->samples.size() < kFewest)
        continue;
      const auto zone = zone_shift(sensor->samples, truth->samples);
      if (!zone) continue;
      reports.push_back(compare(device, meter, sensor->samples, truth->samples, *zone));
    }
  }
  return reports;
}

}  // namespace ergometer::analysis
