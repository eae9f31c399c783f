#include "run/device_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "run/run.h"

namespace ergometer::run {
namespace {

constexpr double kMostWatts = 1e8, kMostBytes = 1.8446744073709552e19, kMostSeconds = 1e10;

constexpr std::array kMetrics = std::to_array<MetricInfo>({
    {"power", "W", 0, kMostWatts, false},
    {"instant_power", "W", 0, kMostWatts, false},
    {"average_power", "W", 0, kMostWatts, false},
    {"memory_power", "W", 0, kMostWatts, false},
    {"module_power", "W", 0, kMostWatts, false},
    {"power_limit", "W", 0, kMostWatts, false},
    {"energy", "J", 0, 1e16, true},
    {"gpu_temperature", "C", -100, 300, false},
    {"memory_temperature", "C", -100, 300, false},
    {"sm_clock", "MHz", 0, 1e5, false},
    {"memory_clock", "MHz", 0, 1e5, false},
    {"gpu_utilization", "%", 0, 100, false},
    {"memory_utilization", "%", 0, 100, false},
    {"memory_used", "B", 0, kMostBytes, false},
    {"fan", "%", 0, 200, false},
    {"event_reasons", "bits", 0, 9007199254740992.0, false},
    {"pcie_sent", "B", 0, kMostBytes, true},
    {"pcie_received", "B", 0, kMostBytes, true},
    {"nvlink_sent", "B", 0, kMostBytes, true},
    {"nvlink_received", "B", 0, kMostBytes, true},
    {"pcie_sent_rate", "B/s", 0, 1e15, false},
    {"pcie_received_rate", "B/s", 0, 1e15, false},
    {"sw_power_cap_time", "s", 0, kMostSeconds, true},
    {"sync_boost_time", "s", 0, kMostSeconds, true},
    {"sw_thermal_time", "s", 0, kMostSeconds, true},
    {"hw_thermal_time", "s", 0, kMostSeconds, true},
    {"hw_power_brake_time", "s", 0, kMostSeconds, true},
    {"hotspot_temperature", "C", -100, 300, false},
    {"temperature_margin", "C", -300, 300, false},
    {"fabric_clock", "MHz", 0, 1e5, false},
    {"pcie_replays", "1", 0, kMostBytes, true},
    {"ecc_corrected", "1", 0, kMostBytes, true},
    {"ecc_uncorrected", "1", 0, kMostBytes, true},
    {"nvlink_errors", "1", 0, kMostBytes, true},
    {"xid", "1", 0, 1e6, false},
    {"memory_energy", "J", 0, 1e16, true},
    {"cpu_utilization", "%", 0, 100, false},
    {"load", "1", 0, 1e7, false},
    {"inlet_temperature", "C", -100, 300, false},
    {"outlet_temperature", "C", -100, 300, false},
    {"fan_speed", "1/min", 0, 1e6, false},
    {"net_sent", "B", 0, kMostBytes, true},
    {"net_received", "B", 0, kMostBytes, true},
    {"net_errors", "1", 0, kMostBytes, true},
    {"net_wait", "1", 0, kMostBytes, true},
    {"line_rate", "B/s", 0, 1e15, false},
    {"cpu_temperature", "C", -100, 300, false},
    {"xgmi_sent", "B", 0, kMostBytes, true},
    {"xgmi_received", "B", 0, kMostBytes, true},
});
static_assert(kMetrics.size() == static_cast<size_t>(Metric::kCount));

}  // namespace

const MetricInfo& metric_info(Metric metric) { return kMetrics[static_cast<size_t>(metric)]; }

std::optional<Metric> metric_of(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &MetricInfo::name);
  if (found == kMetrics.end()) return std::nullopt;
  return static_cast<Metric>(found - kMetrics.begin());
}

const char* kind_name(DeviceKind kind) {
  constexpr std::array kNames = {"gpu", "node", "switch", "meter", "cpu", "port"};
  return kNames[static_cast<size_t>(kind)];
}

DeviceLog readings_within(const DeviceLog& log, int64_t start_ns, int64_t end_ns) {
  DeviceLog result;
  result.source = log.source;
  for (const Device& device : log.devices) {
    Device part = device;
    part.windows.clear();
    for (Series& series : part.series)
      std::erase_if(series.samples, [&](const Sample& sample) {
        return sample.time_ns < start_ns || sample.time_ns > end_ns;
      });
    std::erase_if(part.series, [](const Series& series) { return series.samples.empty(); });
    if (!part.series.empty()) result.devices.push_back(std::move(part));
  }
  return result;
}

bool has_log(const DeviceLog& log) {
  return !log.devices.empty() || !log.training.empty() || !log.power_limits.empty() ||
         !log.gauges.empty() || !log.collectives.empty();
}

DeviceLog device_log(const Run& run) {
  if (has_log(run.log)) {
    DeviceLog log = run.log;
    log.source = run.source;
    return log;
  }
  std::map<int64_t, std::map<Metric, std::vector<Sample>>> ranks;
  // Imported files may not have had them.
  const bool reasons =
      run.source != "imported" || std::ranges::any_of(run.telemetry, [](const Telemetry& row) {
        return row.event_reasons != 0;
      });
  for (const Telemetry& row : run.telemetry) {
    auto& series = ranks[row.rank];
    const auto add = [&](Metric metric, double value) {
      if (value != 0) series[metric].push_back({row.time_ns, value});
    };
    add(Metric::kInstantPower, row.power_w);
    add(Metric::kAveragePower, row.average_power_w);
    add(Metric::kGpuTemperature, row.gpu_c);
    add(Metric::kMemoryTemperature, row.memory_c);
    add(Metric::kSmClock, row.sm_clock_mhz);
    if (reasons)
      series[Metric::kEventReasons].push_back(
          {row.time_ns, static_cast<double>(row.event_reasons)});
  }
  DeviceLog log;
  log.source = run.source;
  for (auto& [rank, series] : ranks) {
    Device device;
    device.rank = device.index = rank;
    for (auto& [metric, samples] : series)
      device.series.push_back({metric, false, std::move(samples)});
    log.devices.push_back(std::move(device));
  }
  return log;
}

}  // namespace ergometer::run
