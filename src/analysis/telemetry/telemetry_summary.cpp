#include "analysis/telemetry/telemetry_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "analysis/telemetry/energy_error.h"
#include "base/mean.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

/// Where no node's readings have a gap.
std::vector<TimeSpan> all_recorded(const std::vector<const run::Device*>& nodes, TimeSpan whole) {
  std::vector<TimeSpan> gaps;
  for (const run::Device* node : nodes) {
    const std::vector<TimeSpan> more = gaps_in(node->find(Metric::kPower)->samples);
    gaps.insert(gaps.end(), more.begin(), more.end());
  }
  return without(whole, std::move(gaps));
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

std::string name_of(const DeviceReport& device) {
  if (device.kind == run::DeviceKind::kGpu)
    return device.label.find(' ') == std::string::npos ? "GPU " + device.label : device.label;
  return device.name.empty() ? device.host : device.name;
}

}  // namespace

void summarize_power(TelemetryReport& report) {
  int64_t gpus = 0;
  std::vector<StandingValue> values;
  for (const DeviceReport& device : report.devices) {
    if (device.kind != run::DeviceKind::kGpu || (!device.has_power && device.energies.empty()))
      continue;
    ++gpus;
    report.power.known = report.power.known || device.has_power;
    report.power.mean_w_per_gpu += device.mean_w;
    if (!device.energies.empty()) report.power.gpu_energy_j += device.energy_j;
    report.power.peak_w_per_gpu = std::max(report.power.peak_w_per_gpu, device.peak_w);
    const std::vector<StandingValue> own = standing_values(device.updates);
    values.insert(values.end(), own.begin(), own.end());
  }
  if (gpus == 0) return;
  report.power.error = error_of_gpus(report.devices);
  report.power.mean_error = error_of_mean_power(report.devices);
  report.hosts = energy_by_host(report.devices);
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
  const std::vector<TimeSpan> recorded = all_recorded(nodes, {from, to});
  std::vector<int64_t> times;
  for (const run::Device* node : nodes) {
    const std::span<const run::Sample> samples = node->find(Metric::kPower)->samples;
    for (const TimeSpan& span : recorded)
      report.cluster.energy_j +=
          energy_j(samples, span.from_ns, span.to_ns) / node->conversion_efficiency;
    for (const run::Sample& sample : samples)
      if (sample.time_ns >= from && sample.time_ns <= to) times.push_back(sample.time_ns);
  }
  report.cluster.known = !recorded.empty();
  if (!report.cluster.known) return;
  report.cluster.mean_w = report.cluster.energy_j / length_s(recorded);
  report.cluster.error = error_of_nodes(report.devices);
  for (const int64_t time : times) {
    double sum = 0;
    for (const run::Device* node : nodes)
      sum += value_at(node->find(Metric::kPower)->samples, time) / node->conversion_efficiency;
    report.cluster.peak_w = std::max(report.cluster.peak_w, sum);
  }
}

void summarize_heat(TelemetryReport& report) {
  base::Mean gpu, memory, throttled, clock;
  std::map<std::string, double> shares;
  int64_t tell_reasons = 0;  ///< GPUs; of the others it is not known what held them
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
    if (device.throttled_fraction || !device.reasons.empty()) ++tell_reasons;
    for (const ReasonShare& share : device.reasons) shares[share.reason] += share.fraction;
  }
  for (const auto& [reason, sum] : shares)
    thermal.event_shares.push_back({reason, sum / static_cast<double>(tell_reasons)});
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

void leave_out_idle_meters(TelemetryReport& report) {
  std::erase_if(report.meters, [&](const MeterReport& meter) {
    if (meter.meter_energy_j > 0) return false;
    report.notes.push_back(fmt::format("{}: measured no energy beside GPU {} of {}: not compared",
                                       meter.meter, meter.rank, meter.gpu_file));
    return true;
  });
}

void note_gaps(TelemetryReport& report) {
  std::map<std::string, std::vector<std::string>> by_text;
  for (const DeviceReport& device : report.devices) {
    if (!device.gaps.empty())
      by_text[fmt::format("no readings of power for {}: left out of energy and means",
                          told(device.gaps))]
          .push_back(name_of(device));
    if (!device.resets.empty())
      by_text[fmt::format("the counter of energy began anew: {}; what it lost there is not known, "
                          "and the time is left out of energy and mean",
                          told(device.resets))]
          .push_back(name_of(device));
  }
  for (const auto& [text, names] : by_text) {
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    report.notes.push_back(fmt::format("{}{}: {}", names.front(), more, text));
  }
}

}  // namespace ergometer::analysis
