#include "analysis/telemetry/telemetry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/math/sum.h"
#include "analysis/telemetry/energy_error.h"
#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/telemetry_summary.h"
#include "base/collection.h"
#include "base/mean.h"
#include "run/device_temperature.h"
#include "run/event_reasons.h"

namespace ergometer::analysis {
namespace {

using run::Metric;
using Samples = std::span<const run::Sample>;

constexpr double kPercent = 100;

/// Calls `visit(value, seconds)` for every reading and the time it stands, which a gap ends.
template <class Visit>
void hold(Samples samples, Visit visit) {
  const int64_t longest = longest_distance_ns(samples);
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const int64_t stands = samples[i + 1].time_ns - samples[i].time_ns;
    if (stands <= longest) visit(samples[i].value, seconds(stands));
  }
}

std::optional<Levels> levels(const run::Device& device, Metric metric) {
  const run::Series* series = device.find(metric);
  if (series == nullptr || series->samples.empty()) return std::nullopt;
  Levels result;
  result.lowest = result.highest = series->samples.front().value;
  double sum = 0, time = 0, plain = 0;
  for (const run::Sample& sample : series->samples) {
    result.lowest = std::min(result.lowest, sample.value);
    result.highest = std::max(result.highest, sample.value);
    plain += sample.value;
  }
  hold(series->samples, [&](double value, double dt) {
    sum += value * dt;
    time += dt;
  });
  result.mean = time > 0 ? sum / time : plain / static_cast<double>(series->samples.size());
  return result;
}

/// All reasons, those that hold no clock among them.
void report_reasons(const run::Device& device, DeviceReport& report) {
  const auto throttling = throttling_of(device);
  if (throttling) {
    report.throttled_fraction = throttling->fraction;
    report.throttling = throttling->reasons;
  }
  const run::Series* series = device.find(Metric::kEventReasons);
  if (series == nullptr || series->samples.size() < 2) {
    report.reasons = counted_reasons(device);
    return;
  }
  std::array<double, run::kEventReasons.size()> held{};
  double time = 0;
  hold(series->samples, [&](double value, double dt) {
    const auto bits = static_cast<int64_t>(value);
    time += dt;
    for (size_t i = 0; i < held.size(); ++i)
      if ((bits & run::kEventReasons[i].bit) != 0) held[i] += dt;
  });
  for (size_t i = 0; i < held.size() && time > 0; ++i)
    if (held[i] > 0)
      report.reasons.push_back({std::string(run::kEventReasons[i].name), held[i] / time});
}

void report_idle(const run::Device& device, DeviceReport& report) {
  const run::Series* series = device.find(Metric::kGpuUtilization);
  if (series == nullptr || series->samples.size() < 2) return;
  double idle = 0, time = 0;
  hold(series->samples, [&](double value, double dt) {
    time += dt;
    if (value == 0) idle += dt;
  });
  if (time > 0) report.idle_fraction = idle / time;
}

void report_traffic(const run::Device& device, DeviceReport& report) {
  for (const Metric metric : {Metric::kPcieSent, Metric::kPcieReceived, Metric::kNvlinkSent,
                              Metric::kNvlinkReceived, Metric::kNetSent, Metric::kNetReceived}) {
    const run::Series* series = device.find(metric);
    if (series == nullptr || series->samples.size() < 2) continue;
    const double bytes =
        counted(series->samples, series->samples.front().time_ns, series->samples.back().time_ns);
    report.traffic.push_back(
        {run::metric_info(metric).name, bytes, series->partial, series->links});
  }
}

struct Way {
  const char* name;
  Metric metric;
};
/// The best first: a counter misses nothing, a mean over the whole time little, an instant reading
/// all that happens between its windows.
constexpr std::array kWays = std::to_array<Way>({
    {"counter", Metric::kEnergy},
    {"average_power", Metric::kAveragePower},
    {"power", Metric::kPower},
    {"instant_power", Metric::kInstantPower},
});

struct KnownWay {
  const Way* way;
  Samples samples;
  SensorUpdates updates;
};

std::vector<KnownWay> known_ways(const run::Device& device) {
  std::vector<KnownWay> ways;
  for (const Way& way : kWays) {
    const run::Series* series = device.find(way.metric);
    if (series == nullptr || series->samples.empty()) continue;
    ways.push_back({&way, series->samples, find_updates(series->samples)});
  }
  return ways;
}

void report_disagreement(DeviceReport& report) {
  double lowest = 0, highest = 0, sum = 0;
  for (const EnergyWay& way : report.energies) {
    lowest = &way == &report.energies.front() ? way.energy_j : std::min(lowest, way.energy_j);
    highest = std::max(highest, way.energy_j);
    sum += way.energy_j;
  }
  if (sum > 0)
    report.disagreement_pct =
        kPercent * (highest - lowest) * static_cast<double>(report.energies.size()) / sum;
}

/// What of the whole lies within gaps: where one of the ways was not read, or its counter began
/// anew.
void report_gaps(const std::vector<KnownWay>& ways, TimeSpan whole, DeviceReport& report) {
  std::vector<TimeSpan> gaps;
  for (const KnownWay& way : ways) {
    const std::vector<TimeSpan> more = gaps_in(way.samples);
    gaps.insert(gaps.end(), more.begin(), more.end());
    if (way.way->metric != Metric::kEnergy) continue;
    report.resets = resets_in(way.samples);
    report.counter_s =
        way.updates.period_s > 0 ? way.updates.period_s : way.updates.reading_interval_s;
  }
  report.gaps = without(whole, without(whole, std::move(gaps)));
}

std::vector<TimeSpan> recorded_of(const DeviceReport& report, TimeSpan whole) {
  std::vector<TimeSpan> left_out = report.gaps;
  left_out.insert(left_out.end(), report.resets.begin(), report.resets.end());
  return without(whole, std::move(left_out));
}

/// The joules by one way within `recorded`.
double joules_of(const KnownWay& way, const std::vector<TimeSpan>& recorded, double efficiency) {
  double sum = 0;
  for (const TimeSpan& span : recorded)
    sum += way.way->metric == Metric::kEnergy
               ? counted(way.updates.points, span.from_ns, span.to_ns)
               : energy_j(way.updates.points, span.from_ns, span.to_ns) / efficiency;
  return sum;
}

/// A sensor that is read more often than it updates may look at a part of each period only.
void report_whole_beats(const std::vector<KnownWay>& ways, const std::vector<TimeSpan>& recorded,
                        double efficiency, DeviceReport& report) {
  if (ways.empty() || ways.back().way->metric == Metric::kEnergy) return;
  const KnownWay& way = ways.back();
  constexpr double kOften = 2;
  if (way.updates.period_s < kOften * way.updates.reading_interval_s) return;
  report.repeating = repeating_stretches(way.updates.points, way.updates.period_s);
  if (report.repeating.empty()) return;
  double joules = joules_of(way, recorded, efficiency);
  for (const TimeSpan& span : recorded)
    joules += correction_j(report.repeating, span.from_ns, span.to_ns) / efficiency;
  report.energies.push_back({"instant_power_whole_beats", joules});
}

/// All ways over the time that all of them cover.
void report_energies(const std::vector<KnownWay>& ways, double efficiency, DeviceReport& report) {
  int64_t from = INT64_MIN, to = INT64_MAX;
  for (const KnownWay& way : ways) {
    if (way.samples.size() < 2) continue;
    from = std::max(from, way.samples.front().time_ns);
    to = std::min(to, way.samples.back().time_ns);
  }
  std::vector<TimeSpan> recorded;
  if (to > from && from != INT64_MIN) {
    report_gaps(ways, {from, to}, report);
    recorded = recorded_of(report, {from, to});
  }
  for (const KnownWay& way : ways)
    if (way.samples.size() >= 2 && !recorded.empty())
      report.energies.push_back({way.way->name, joules_of(way, recorded, efficiency)});
  if (!report.energies.empty()) {
    report.energy_j = report.energies.front().energy_j;
    report.mean_w = report.energy_j / length_s(recorded);
    report.start_ns = from;
    report.end_ns = to;
  }
  report_whole_beats(ways, recorded, efficiency, report);
  report_disagreement(report);
}

/// The strongest changes of a tenth or more, in order of time.
std::vector<ChangePoint> power_changes(Samples samples) {
  constexpr double kTenth = 0.1;
  constexpr size_t kMost = 16;
  std::vector<ChangePoint> changes = reading_changes(samples, {.least_part = kTenth});
  const auto move = [](const ChangePoint& c) { return std::abs(c.after - c.before); };
  std::ranges::stable_sort(changes,
                           [&](const auto& a, const auto& b) { return move(a) > move(b); });
  changes.resize(std::min(changes.size(), kMost));
  std::ranges::sort(changes, [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return changes;
}

/// Changes within a stretch that repeats are its beat; what counts is where it begins and ends.
void leave_out_beats(DeviceReport& report) {
  const auto& points = report.updates.points;
  for (const RepeatingStretch& stretch : report.repeating) {
    const int64_t edge = (stretch.to_ns - stretch.from_ns) / 20;
    std::erase_if(report.changes, [&](const ChangePoint& change) {
      return change.time_ns > stretch.from_ns - edge && change.time_ns < stretch.to_ns + edge;
    });
    const double before = value_at(points, stretch.from_ns - edge),
                 after = value_at(points, stretch.to_ns + edge);
    if (stretch.from_ns > points.front().time_ns)
      report.changes.push_back({stretch.from_ns, before, stretch.mean_w});
    if (stretch.to_ns < points.back().time_ns)
      report.changes.push_back({stretch.to_ns, stretch.mean_w, after});
  }
  std::ranges::sort(report.changes,
                    [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
}

void report_power(const run::Device& device, DeviceReport& report) {
  std::vector<KnownWay> ways = known_ways(device);
  report_energies(ways, device.conversion_efficiency, report);
  // Peaks are seen best by the reading that averages least.
  KnownWay* shown = nullptr;
  for (KnownWay& way : ways)
    if (way.way->metric != Metric::kEnergy) shown = &way;
  if (shown == nullptr) return;
  report.has_power = true;
  report.power_metric = shown->way->name;
  report.updates = std::move(shown->updates);
  std::vector<StandingValue> values = standing_values(report.updates, device.conversion_efficiency);
  report.p5_w = percentile(values, 0.05);
  report.median_w = percentile(values, 0.5);
  report.p95_w = percentile(values, 0.95);
  report.p99_w = percentile(values, 0.99);
  report.peak_w = values.back().value;
  if (report.energies.empty())
    report.mean_w = base::sum(values, &StandingValue::value) / static_cast<double>(values.size());
  report.changes = power_changes(shown->samples);
  leave_out_beats(report);
}

/// Windows that follow each other, in order of time: of an epoch and the steps within it the epoch.
/// What lies half in another is in it; clocks let neighbours overlap a little.
std::vector<const run::EnergyWindow*> outer_windows(const run::Device& device) {
  std::vector<const run::EnergyWindow*> windows = base::pointers_to(device.windows);
  std::ranges::stable_sort(windows, [](const auto* a, const auto* b) {
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->duration_ns > b->duration_ns;
  });
  int64_t end_ns = INT64_MIN;
  std::erase_if(windows, [&](const run::EnergyWindow* window) {
    if (window->start_ns + window->duration_ns / 2 < end_ns) return true;
    end_ns = window->start_ns + window->duration_ns;
    return false;
  });
  return windows;
}

void report_windows(const run::Device& device, DeviceReport& report) {
  if (device.windows.empty() || !report.energies.empty()) return;
  double joules = 0, time = 0;
  for (const run::EnergyWindow* window : outer_windows(device)) {
    joules += window->energy_j;
    time += seconds(window->duration_ns);
  }
  report.start_ns = device.windows.front().start_ns;
  for (const run::EnergyWindow& window : device.windows) {
    report.start_ns = std::min(report.start_ns, window.start_ns);
    report.end_ns = std::max(report.end_ns, window.start_ns + window.duration_ns);
    if (window.duration_ns > 0)
      report.peak_w = std::max(report.peak_w, window.energy_j / seconds(window.duration_ns));
  }
  report.energies.push_back({"windows", joules});
  report.energy_j = joules;
  if (!(time > 0)) return;
  report.has_power = true;
  report.power_metric = "windows";
  report.mean_w = joules / time;
}

/// Of a device whose energy nobody knows: from the first reading to the last.
void report_span(const run::Device& device, DeviceReport& report) {
  if (report.end_ns > report.start_ns) return;
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const run::Series& series : device.series) {
    if (series.samples.empty()) continue;
    from = std::min(from, series.samples.front().time_ns);
    to = std::max(to, series.samples.back().time_ns);
  }
  if (from > to) return;
  report.start_ns = from;
  report.end_ns = to;
}

DeviceReport report_device(const run::Device& device, const GpuNames& names) {
  DeviceReport report;
  report.kind = device.kind;
  report.rank = device.rank;
  report.index = device.index;
  if (device.kind == run::DeviceKind::kGpu) {
    report.label = names.in_table(device);
    report.host_label = names.host_of(device);
  }
  report.host = device.host;
  report.name = device.name;
  report.uuid = device.uuid;
  report.file = device.file;
  report_power(device, report);
  report_windows(device, report);
  report_span(device, report);
  report.gpu_c = levels(device, run::temperature_metric(device));
  report.memory_c = levels(device, Metric::kMemoryTemperature);
  report.sm_clock_mhz = levels(device, Metric::kSmClock);
  report.memory_clock_mhz = levels(device, Metric::kMemoryClock);
  report.utilization_pct = levels(device, Metric::kGpuUtilization);
  report.memory_utilization_pct = levels(device, Metric::kMemoryUtilization);
  report.fan_pct = levels(device, Metric::kFan);
  report.power_limit_w = levels(device, Metric::kPowerLimit);
  report.cpu_pct = levels(device, Metric::kCpuUtilization);
  report.cpu_c = levels(device, Metric::kCpuTemperature);
  if (device.kind == run::DeviceKind::kNode)
    report.memory_used_b = levels(device, Metric::kMemoryUsed);
  report_idle(device, report);
  report_reasons(device, report);
  report_traffic(device, report);
  return report;
}

}  // namespace

TelemetryReport analyze_telemetry(const run::DeviceLog& log, bool beside_traces) {
  TelemetryReport report;
  const GpuNames names(log, beside_traces);
  for (const run::Device& device : log.devices)
    report.devices.push_back(report_device(device, names));
  report.meters = compare_meters(log);
  leave_out_idle_meters(report);
  state_errors(log, report);
  summarize_power(report);
  summarize_cluster(log, report);
  summarize_heat(report);
  summarize_gauges(log, report);
  note_gaps(report);
  report.collectives = collective_timings(log);
  for (const run::TrainingLog& training : log.training)
    report.training.push_back(report_training(log, report.devices, training));
  return report;
}

}  // namespace ergometer::analysis
