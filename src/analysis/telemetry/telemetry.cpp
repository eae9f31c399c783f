#include "analysis/telemetry/telemetry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/math/sum.h"
#include "analysis/telemetry/gpu_names.h"
#include "base/collection.h"
#include "base/mean.h"
#include "run/event_reasons.h"

namespace ergometer::analysis {
namespace {

using run::Metric;
using Samples = std::span<const run::Sample>;

constexpr double kPercent = 100;

/// Calls `visit(value, seconds)` for every reading and the time it stands.
template <class Visit>
void hold(Samples samples, Visit visit) {
  for (size_t i = 0; i + 1 < samples.size(); ++i)
    visit(samples[i].value, seconds(samples[i + 1].time_ns - samples[i].time_ns));
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

/// A sensor that is read more often than it updates may look at a part of each period only.
void report_whole_beats(const std::vector<KnownWay>& ways, int64_t from, int64_t to,
                        double efficiency, DeviceReport& report) {
  if (ways.empty() || ways.back().way->metric == Metric::kEnergy) return;
  const KnownWay& way = ways.back();
  constexpr double kOften = 2;
  if (way.updates.period_s < kOften * way.updates.reading_interval_s) return;
  report.repeating = repeating_stretches(way.updates.points, way.updates.period_s);
  if (report.repeating.empty()) return;
  report.energies.push_back(
      {"instant_power_whole_beats",
       (energy_j(way.updates.points, from, to) + correction_j(report.repeating, from, to)) /
           efficiency});
}

/// All ways over the time that all of them cover.
void report_energies(const std::vector<KnownWay>& ways, double efficiency, DeviceReport& report) {
  int64_t from = INT64_MIN, to = INT64_MAX;
  for (const KnownWay& way : ways) {
    if (way.samples.size() < 2) continue;
    from = std::max(from, way.samples.front().time_ns);
    to = std::min(to, way.samples.back().time_ns);
  }
  for (const KnownWay& way : ways) {
    if (way.samples.size() < 2 || to <= from) continue;
    const double joules = way.way->metric == Metric::kEnergy
                              ? counted(way.updates.points, from, to)
                              : energy_j(way.updates.points, from, to) / efficiency;
    report.energies.push_back({way.way->name, joules});
  }
  if (!report.energies.empty()) {
    report.energy_j = report.energies.front().energy_j;
    report.mean_w = report.energy_j / seconds(to - from);
    report.start_ns = from;
    report.end_ns = to;
  }
  report_whole_beats(ways, from, to, efficiency, report);
  report_disagreement(report);
}

/// The values of a sensor's updates, each once.
std::vector<double> update_values(const SensorUpdates& updates, double efficiency) {
  return base::mapped(updates.points,
                      [&](const run::Sample& point) { return point.value / efficiency; });
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
  std::vector<double> values = update_values(report.updates, device.conversion_efficiency);
  report.p5_w = percentile(values, 0.05);
  report.median_w = percentile(values, 0.5);
  report.p95_w = percentile(values, 0.95);
  report.p99_w = percentile(values, 0.99);
  report.peak_w = values.back();
  if (report.energies.empty()) report.mean_w = values.front();
  report.changes = power_changes(shown->samples);
  leave_out_beats(report);
}

void report_windows(const run::Device& device, DeviceReport& report) {
  if (device.windows.empty() || !report.energies.empty()) return;
  double joules = 0, time = 0;
  report.start_ns = device.windows.front().start_ns;
  for (const run::EnergyWindow& window : device.windows) {
    joules += window.energy_j;
    time += seconds(window.duration_ns);
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
  report.gpu_c = levels(device, Metric::kGpuTemperature);
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

void summarize_power(TelemetryReport& report) {
  int64_t gpus = 0;
  std::vector<double> values;
  for (const DeviceReport& device : report.devices) {
    if (device.kind != run::DeviceKind::kGpu || !device.has_power) continue;
    ++gpus;
    report.power.mean_w_per_gpu += device.mean_w;
    report.power.gpu_energy_j += device.energy_j;
    report.power.peak_w_per_gpu = std::max(report.power.peak_w_per_gpu, device.peak_w);
    for (const run::Sample& point : device.updates.points) values.push_back(point.value);
  }
  if (gpus == 0) return;
  report.power.known = true;
  report.power.mean_w_per_gpu /= static_cast<double>(gpus);
  report.power.p95_w_per_gpu =
      values.empty() ? report.power.peak_w_per_gpu : percentile(values, 0.95);
}

/// Nodes' power added up: peaks do not coincide, so at the times at which any node was read.
void summarize_cluster(const run::DeviceLog& log, TelemetryReport& report) {
  std::vector<const run::Device*> nodes;
  int64_t from = INT64_MIN, to = INT64_MAX;
  for (const run::Device& device : log.devices) {
    const run::Series* power = device.find(Metric::kPower);
    if (device.kind != run::DeviceKind::kNode || power == nullptr) continue;
    nodes.push_back(&device);
    from = std::max(from, power->samples.front().time_ns);
    to = std::min(to, power->samples.back().time_ns);
  }
  // Of one training run what lies between its marks counts.
  if (log.training.size() == 1) {
    for (const run::Phase& phase : log.training[0].phases) {
      if (phase.name != "run") continue;
      from = phase.start_ns;
      to = phase.end_ns;
      break;
    }
  }
  if (nodes.empty() || to <= from) return;
  std::vector<int64_t> times;
  for (const run::Device* node : nodes) {
    const Samples samples = node->find(Metric::kPower)->samples;
    report.cluster.energy_j += energy_j(samples, from, to) / node->conversion_efficiency;
    for (const run::Sample& sample : samples)
      if (sample.time_ns >= from && sample.time_ns <= to) times.push_back(sample.time_ns);
  }
  report.cluster.known = true;
  report.cluster.mean_w = report.cluster.energy_j / seconds(to - from);
  for (const int64_t time : times) {
    double sum = 0;
    for (const run::Device* node : nodes)
      sum += value_at(node->find(Metric::kPower)->samples, time) / node->conversion_efficiency;
    report.cluster.peak_w = std::max(report.cluster.peak_w, sum);
  }
}

/// Hottest minus coolest GPU of a host, by their means.
double largest_spread(const std::vector<DeviceReport>& devices) {
  std::map<std::string, std::pair<double, double>> hosts;
  for (const DeviceReport& device : devices) {
    if (!device.gpu_c) continue;
    const double c = device.gpu_c->mean;
    const auto [at, is_new] = hosts.emplace(device.host, std::make_pair(c, c));
    if (!is_new) at->second = {std::min(at->second.first, c), std::max(at->second.second, c)};
  }
  double spread = 0;
  for (const auto& [host, ends] : hosts) spread = std::max(spread, ends.second - ends.first);
  return spread;
}

void summarize_heat(TelemetryReport& report) {
  base::Mean gpu, memory, throttled, clock;
  std::map<std::string, double> shares;
  ThermalSummary& thermal = report.thermal;
  for (const DeviceReport& device : report.devices) {
    if (device.gpu_c) {
      thermal.max_gpu_c = gpu.count == 0 ? device.gpu_c->highest
                                         : std::max(thermal.max_gpu_c, device.gpu_c->highest);
      gpu.add(device.gpu_c->mean);
    }
    if (device.memory_c) {
      memory.add(device.memory_c->mean);
      thermal.max_memory_c = std::max(thermal.max_memory_c.value_or(device.memory_c->highest),
                                      device.memory_c->highest);
    }
    if (device.sm_clock_mhz) {
      clock.add(device.sm_clock_mhz->mean);
      thermal.lowest_clock_mhz =
          std::min(thermal.lowest_clock_mhz.value_or(device.sm_clock_mhz->lowest),
                   device.sm_clock_mhz->lowest);
    }
    if (device.throttled_fraction) throttled.add(*device.throttled_fraction);
    for (const ReasonShare& share : device.reasons) shares[share.reason] += share.fraction;
  }
  const auto gpus = static_cast<double>(std::ranges::count_if(
      report.devices, [](const DeviceReport& d) { return d.kind == run::DeviceKind::kGpu; }));
  for (const auto& [reason, sum] : shares) thermal.event_shares.push_back({reason, sum / gpus});
  thermal.known = gpu.count > 0 || clock.count > 0 || throttled.count > 0;
  thermal.mean_gpu_c = gpu.get().value_or(0);
  thermal.spread_c = largest_spread(report.devices);
  thermal.mean_memory_c = memory.get();
  thermal.throttled_time_fraction = throttled.get();
  thermal.mean_clock_mhz = clock.get();
}

void summarize_gauges(const run::DeviceLog& log, TelemetryReport& report) {
  std::map<std::string, GaugeReport> all;
  for (const run::Gauge& gauge : log.gauges) {
    GaugeReport& g = all[gauge.labels.empty() ? gauge.name : gauge.name + "{" + gauge.labels + "}"];
    if (g.count == 0 || gauge.value > g.highest) {
      g.highest = gauge.value;
      g.highest_rank = gauge.rank;
    }
    g.lowest = g.count == 0 ? gauge.value : std::min(g.lowest, gauge.value);
    g.mean += (gauge.value - g.mean) / static_cast<double>(++g.count);
  }
  for (auto& [name, gauge] : all) {
    gauge.name = name;
    report.gauges.push_back(std::move(gauge));
  }
}

}  // namespace

TelemetryReport analyze_telemetry(const run::DeviceLog& log, bool beside_traces) {
  TelemetryReport report;
  const GpuNames names(log, beside_traces);
  for (const run::Device& device : log.devices)
    report.devices.push_back(report_device(device, names));
  summarize_power(report);
  summarize_cluster(log, report);
  summarize_heat(report);
  summarize_gauges(log, report);
  report.meters = compare_meters(log);
  report.collectives = collective_timings(log);
  for (const run::TrainingLog& training : log.training)
    report.training.push_back(report_training(log, training));
  return report;
}

}  // namespace ergometer::analysis
