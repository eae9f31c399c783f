#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/telemetry/energy_error.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/collectives_text.h"
#include "report/measured/energy_error_output.h"
#include "report/measured/first_rows.h"
#include "report/measured/telemetry_json.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

using analysis::DeviceReport;

constexpr size_t kDevicesShown = 64, kMostLines = 12;

std::string watts(double value) { return fmt::format("{:.1f} W", value); }

std::string mean_of(const std::optional<analysis::Levels>& levels, std::string_view unit) {
  return levels ? fmt::format("{:.0f} {}", levels->mean, unit) : "-";
}

std::string highest_of(const std::optional<analysis::Levels>& levels, std::string_view unit) {
  return levels ? fmt::format("{:.0f} {}", levels->highest, unit) : "-";
}

std::string label_of(const DeviceReport& device) {
  if (device.kind == run::DeviceKind::kGpu) return device.label;
  return device.name.empty() ? device.host.substr(0, 8) : device.name.substr(0, 8);
}

/// Wide enough for what the first column of a table calls devices.
size_t label_width(const std::vector<const DeviceReport*>& devices) {
  size_t width = 6;
  for (const DeviceReport* device : first(devices, kDevicesShown))
    width = std::max(width, label_of(*device).size());
  return width + 2;
}

std::string devices_table(const std::vector<const DeviceReport*>& devices, std::string_view title,
                          const TextStyle& style) {
  if (devices.empty()) return "";
  const size_t width = label_width(devices);
  std::string out =
      heading(style, fmt::format("{:<{}}{:>10}{:>10}{:>10}{:>11}{:>8}{:>8}{:>10}{:>8}{:>10}", title,
                                 width, "mean", "p95", "peak", "energy", "mean", "max", "clock",
                                 "idle", "throttled"));
  for (const DeviceReport* device : first(devices, kDevicesShown)) {
    const DeviceReport& d = *device;
    const bool series = d.has_power && d.updates.readings > 0;
    out +=
        fmt::format("{:<{}}{:>10}{:>10}{:>10}{:>11}{:>8}{:>8}{:>10}{:>8}{:>10}\n", label_of(d),
                    width, d.has_power || !d.energies.empty() ? watts(d.mean_w) : "-",
                    series ? watts(d.p95_w) : "-", d.has_power ? watts(d.peak_w) : "-",
                    d.energies.empty() ? "-" : format_quantity(d.energy_j, "J"),
                    mean_of(d.gpu_c, "C"), highest_of(d.gpu_c, "C"), mean_of(d.sm_clock_mhz, "MHz"),
                    d.idle_fraction ? format_share(*d.idle_fraction) : "-",
                    d.throttled_fraction ? format_share(*d.throttled_fraction) : "-");
  }
  return out + more_line(devices.size(), kDevicesShown);
}

/// "4.4 %", or "4.4 to 7.0 %".
std::string percent_range(double lowest, double highest) {
  const std::string high = fmt::format("{:.1f}", highest), low = fmt::format("{:.1f}", lowest);
  return low == high ? high + " %" : fmt::format("{} to {} %", low, high);
}

/// How far their energy and mean power are off, each and together.
std::string error_line(const std::vector<const DeviceReport*>& devices, const char* one,
                       const run::EnergyError& together) {
  double lowest = 0, highest = 0, energy_j = 0;
  size_t stated = 0, summed = 0, unknown = 0;
  for (const DeviceReport* device : devices) {
    if (!device->error.stated) continue;
    const double percent = device->error.percent();
    lowest = stated++ == 0 ? percent : std::min(lowest, percent);
    highest = std::max(highest, percent);
    energy_j += device->energy_j;
    if (!device->energies.empty()) ++summed;
    if (!device->error.known) ++unknown;
  }
  if (stated == 0) return "";
  std::string out =
      fmt::format("Energy and mean power (90 %): a {} +-{}", one, percent_range(lowest, highest));
  if (summed > 1 && together.stated)
    out +=
        fmt::format(", all {}: {}{}", summed, format_quantity(energy_j, "J"), plus_minus(together));
  if (unknown > 0) out += unknown == stated ? "; sensor not known" : "; some sensors not known";
  return out + '\n';
}

std::string reasons_text(const std::vector<analysis::ReasonShare>& reasons) {
  std::vector<std::string> parts;
  for (const analysis::ReasonShare& share : reasons)
    parts.push_back(fmt::format("{} {}", share.reason, format_share(share.fraction)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Throttled GPUs of one host that the same reason holds longest.
struct ThrottledGroup {
  std::string host, reason;
  size_t gpus = 0;
  double least = 1, most = 0;
};

std::vector<ThrottledGroup> by_host_and_reason(const std::vector<const DeviceReport*>& gpus) {
  std::map<std::pair<std::string, std::string>, size_t> known;
  std::vector<ThrottledGroup> groups;
  for (const DeviceReport* d : gpus) {
    const std::string& reason = d->throttling.front().reason;
    const auto [at, is_new] = known.emplace(std::pair(d->host, reason), groups.size());
    if (is_new) groups.push_back({.host = d->host_label, .reason = reason});
    ThrottledGroup& group = groups[at->second];
    ++group.gpus;
    group.least = std::min(group.least, *d->throttled_fraction);
    group.most = std::max(group.most, *d->throttled_fraction);
  }
  return groups;
}

std::string throttled_groups(const std::vector<const DeviceReport*>& gpus, const TextStyle& style) {
  const std::vector<ThrottledGroup> groups = by_host_and_reason(gpus);
  const auto shown = first(groups, kDevicesShown);
  size_t width = 22;
  for (const ThrottledGroup& group : shown) width = std::max(width, group.host.size() + 2);
  std::string out = heading(
      style, fmt::format("{:<{}}{:>6}{:>20}  {}", fmt::format("Throttled ({} GPUs)", gpus.size()),
                         width + 2, "GPUs", "of their time", "by"));
  for (const ThrottledGroup& group : shown)
    out += fmt::format("  {:<{}}{:>6}{:>20}  {}\n", group.host, width, group.gpus,
                       format_share(group.least) + " to " + format_share(group.most), group.reason);
  return out + more_line(groups.size(), kDevicesShown, "groups");
}

/// Every GPU that something holds, with what it is; of many, hosts and reasons.
std::string throttled_text(const std::vector<const DeviceReport*>& all, const TextStyle& style) {
  constexpr size_t kGpusListed = 32;
  std::vector<const DeviceReport*> gpus;
  for (const DeviceReport* d : all)
    if (!d->throttling.empty()) gpus.push_back(d);
  if (gpus.empty()) return "";
  if (gpus.size() > kGpusListed) return throttled_groups(gpus, style);
  const size_t width = std::max<size_t>(label_width(gpus), 14);
  std::string out =
      heading(style, fmt::format("{:<{}}{:>10}  {}", "Throttled GPUs", width + 2, "of time", "by"));
  for (const DeviceReport* d : gpus)
    out += fmt::format("  {:<{}}{:>10}  {}\n", label_of(*d), width,
                       format_share(*d->throttled_fraction), reasons_text(d->throttling));
  return out;
}

/// What is known of hosts beside their power: processors, memory, ports.
std::string hosts_text(const std::vector<DeviceReport>& devices, const TextStyle& style) {
  std::string out;
  size_t all = 0;
  for (const DeviceReport& d : devices) {
    const bool port = d.kind == run::DeviceKind::kPort && !d.traffic.empty();
    if (d.kind == run::DeviceKind::kGpu || !(d.cpu_pct || d.cpu_c || d.memory_used_b || port))
      continue;
    if (++all > kMostLines) continue;
    out += fmt::format("  {}:", d.name.empty() ? d.host : d.name);
    if (d.cpu_pct) out += fmt::format(" processors {:.1f} % busy;", d.cpu_pct->mean);
    if (d.memory_used_b)
      out += fmt::format(" memory {} in use;", base::format_binary_bytes(d.memory_used_b->mean));
    if (d.cpu_c)
      out += fmt::format(" {:.0f} C, at most {:.0f} C;", d.cpu_c->mean, d.cpu_c->highest);
    if (port)
      for (const DeviceReport::Traffic& traffic : d.traffic)
        out += fmt::format(" {} {};", traffic.metric, format_quantity(traffic.bytes, "B"));
    out.back() = '\n';
  }
  return out.empty() ? "" : heading(style, "Hosts") + out + more_line(all, kMostLines);
}

std::string updates_lines(const std::vector<const DeviceReport*>& devices) {
  std::string out;
  size_t all = 0;
  for (const DeviceReport* d : devices) {
    if (!d->has_power || d->updates.readings == 0 || ++all > kMostLines) continue;
    out += fmt::format("  {}: {}: {} readings every {}, {} sensor updates", label_of(*d),
                       d->power_metric, base::format_count(d->updates.readings),
                       base::format_seconds(d->updates.reading_interval_s),
                       base::format_count(d->updates.distinct));
    if (d->updates.period_s > 0)
      out += fmt::format(", {} apart", base::format_seconds(d->updates.period_s));
    if (d->energies.size() > 1) {
      out += "; energy";
      for (const analysis::EnergyWay& way : d->energies)
        out += fmt::format(" {} {},", way.way, format_quantity(way.energy_j, "J"));
      out += fmt::format(" {:.2f} % apart", d->disagreement_pct);
    }
    out += '\n';
  }
  return out + more_line(all, kMostLines);
}

std::string reasons_line(const analysis::ThermalSummary& thermal) {
  if (thermal.event_shares.empty()) return "";
  std::string line = "Clock event reasons, share of GPU time:";
  for (const analysis::ReasonShare& share : thermal.event_shares)
    line += fmt::format(" {} {};", share.reason, format_share(share.fraction));
  line.back() = '\n';
  return line;
}

std::string steps_text(const analysis::LoggedSteps& steps) {
  const bool one = steps.steps_a_line == 1;
  std::string out =
      fmt::format("  {} steps, median of the second half {} ({} to {}: 10th and 90th percentile)\n",
                  base::format_count(steps.steps), base::format_seconds(steps.median_s),
                  base::format_seconds(steps.low_s), base::format_seconds(steps.high_s));
  if (!one)
    out += fmt::format("  each line is the mean of {} steps: a slow step is seen by a part\n",
                       base::format_count(steps.steps_a_line));
  if (steps.steps > steps.steps_a_line)
    out += fmt::format("  behind the first {}: 95th percentile {}, slowest {} ({} {})\n",
                       one ? "step" : "line", base::format_seconds(steps.p95_s),
                       base::format_seconds(steps.slowest_s), one ? "step" : "line of step",
                       steps.slowest_step);
  if (steps.tokens_per_s_per_gpu > 0)
    out += fmt::format("  {:.0f} tokens/s a GPU, median\n", steps.tokens_per_s_per_gpu);
  return out;
}

std::string training_text(const std::vector<analysis::TrainingReport>& all,
                          const TextStyle& style) {
  std::string out;
  for (const analysis::TrainingReport& t : all) {
    if (t.logged.steps > 0) {
      out += heading(style, fmt::format("Training steps, {}", t.file));
      out += steps_text(t.logged);
    }
    if (t.run_s <= 0 && t.logged.steps > 0) continue;
    out += heading(style, fmt::format("{} ({}), {}", t.benchmark, t.platform, t.file));
    out += fmt::format("  run_start to run_stop  {}\n", base::format_seconds(t.run_s));
    if (t.nodes == 0) {
      out += "  no node's power readings lie within it\n";
      continue;
    }
    out += fmt::format("  node energy            {}{} of {} (mean times time: {:.3f} % apart)\n",
                       format_quantity(t.node_energy_j, "J"), plus_minus(t.error),
                       counted(t.nodes, "node"), t.disagreement_pct);
    if (t.interconnect_energy_j > 0)
      out += fmt::format("  interconnect           {}, from the power stated of the switches\n",
                         format_quantity(t.interconnect_energy_j, "J"));
    out += fmt::format("  a node                 {} mean, {} in training blocks, {} peak\n",
                       watts(t.mean_node_w), watts(t.training_node_w), watts(t.peak_node_w));
    if (t.samples_per_s > 0)
      out +=
          fmt::format("  throughput             {:.3f} samples/s, {}{} a sample\n", t.samples_per_s,
                      format_quantity(t.energy_per_sample_j, "J"), plus_minus(t.error));
    constexpr double kAll = 0.99;
    if (t.covered_fraction < kAll)
      out += fmt::format("  readings cover only {} of the run; the nearest are held\n",
                         format_share(t.covered_fraction));
  }
  return out;
}

std::string meters_text(const std::vector<analysis::MeterReport>& meters, const TextStyle& style) {
  std::string out;
  for (const analysis::MeterReport& m : meters) {
    out += heading(style, fmt::format("GPU {} beside the meter {}", m.rank, m.meter));
    out += fmt::format("  both cover            {} (meter's clock {:+.3f} s)\n",
                       base::format_seconds(m.common_s), m.clock_offset_s);
    out += fmt::format("  meter                 {}\n", format_quantity(m.meter_energy_j, "J"));
    out += fmt::format("  sensor                {}, {:+.2f} %\n",
                       format_quantity(m.sensor_energy_j, "J"), m.sensor_error_pct);
    if (m.gain > 0)
      out += fmt::format(
          "  sensor, corrected     {}, {:+.2f} %: over whole beats, and by {:.4f}, "
          "what it shows of the meter when quiet\n",
          format_quantity(m.corrected_energy_j, "J"), m.corrected_error_pct, m.gain);
  }
  return out;
}

std::string gauges_text(const std::vector<analysis::GaugeReport>& gauges, const TextStyle& style) {
  if (gauges.empty()) return "";
  base::Table table("<58 >6 >12 >12 >12 >6");
  table.row("Metric", "count", "lowest", "mean", "highest", "rank");
  for (const analysis::GaugeReport& g : first(gauges, kDevicesShown)) {
    table.row(g.name.substr(0, 57), g.count, fmt::format("{:.5g}", g.lowest),
              fmt::format("{:.5g}", g.mean), fmt::format("{:.5g}", g.highest), g.highest_rank);
  }
  return table_text(table, style) + more_line(gauges.size(), kDevicesShown);
}

std::string limits_text(const run::DeviceLog& log) {
  if (log.power_limits.empty()) return "";
  double low = log.power_limits.front().limit_w, high = low;
  for (const run::PowerLimitRow& row : log.power_limits) {
    low = std::min(low, row.limit_w);
    high = std::max(high, row.limit_w);
  }
  return fmt::format("Power limits: {} measured rows, {:.0f} to {:.0f} W (all of them: --json)\n",
                     base::format_count(static_cast<int64_t>(log.power_limits.size())), low, high);
}

std::string telemetry_notes(const std::vector<std::string>& notes, const TextStyle& style) {
  std::string out;
  for (const std::string& note : first(notes, kMostLines))
    out += paint(style, kDim, wrap("Note: " + note, 98, 2)) + '\n';
  return out + more_line(notes.size(), kMostLines);
}

std::string read_text(const run::DeviceLog& log, const analysis::TelemetryReport& report,
                      const TextStyle& style) {
  std::string out = telemetry_notes(report.notes, style) + telemetry_notes(log.notes, style);
  if (log.dropped.empty()) return out;
  out += heading(style, "Left out");
  for (const run::Dropped& d : first(log.dropped, kMostLines)) {
    out += fmt::format("  {:>9}  {}: {}\n", base::format_count(d.count), d.file, d.reason);
  }
  return out + more_line(log.dropped.size(), kMostLines);
}

}  // namespace

std::string telemetry_text(const run::DeviceLog& log, const analysis::TelemetryReport& report,
                           const TextStyle& style) {
  if (!run::has_log(log)) return "No readings\n" + read_text(log, report, style);
  std::vector<const DeviceReport*> gpus, nodes, cpus;
  for (const DeviceReport& device : report.devices) {
    if (device.kind == run::DeviceKind::kGpu) gpus.push_back(&device);
    const bool known = device.has_power || !device.energies.empty();
    if (device.kind == run::DeviceKind::kNode && known) nodes.push_back(&device);
    if (device.kind == run::DeviceKind::kCpu && known) cpus.push_back(&device);
  }
  std::string out = devices_table(gpus, "GPU", style) +
                    error_line(gpus, "GPU", report.power.error) + updates_lines(gpus) +
                    devices_table(nodes, "Node", style) +
                    error_line(nodes, "node", report.cluster.error) + updates_lines(nodes) +
                    devices_table(cpus, "CPU", style) +
                    error_line(cpus, "CPU package", analysis::error_of_cpus(report.devices));
  const auto tells_temperature = [](const DeviceReport* gpu) { return gpu->gpu_c.has_value(); };
  if (std::ranges::count_if(gpus, tells_temperature) > 1)
    out += fmt::format("Spread of mean temperatures within a host: {:.1f} C\n",
                       report.thermal.spread_c);
  return out + hosts_text(report.devices, style) + reasons_line(report.thermal) +
         throttled_text(gpus, style) + meters_text(report.meters, style) +
         training_text(report.training, style) + limits_text(log) +
         collectives_text(report.collectives, style) + gauges_text(report.gauges, style) +
         read_text(log, report, style);
}

}  // namespace ergometer::report
