#include "page/series_lines.h"

#include <algorithm>
#include <array>
#include <set>

namespace ergometer::page {
namespace {

using run::DeviceKind;
using run::Metric;

struct Spec {
  const char *name, *title, *unit;
  DeviceKind kind;
  std::array<Metric, 3> sources;  ///< the first that a device has; kCount: no more
  double scale = 1;
  bool rate = false;  ///< a counter's, each second
};

constexpr Metric kNone = Metric::kCount;
constexpr std::array kSpecs = std::to_array<Spec>({
    {"power_w",
     "Power",
     "W",
     DeviceKind::kGpu,
     {Metric::kInstantPower, Metric::kPower, Metric::kAveragePower}},
    {"gpu_c", "GPU temperature", "C", DeviceKind::kGpu, {Metric::kGpuTemperature, kNone, kNone}},
    {"hotspot_c",
     "Hotspot temperature",
     "C",
     DeviceKind::kGpu,
     {Metric::kHotspotTemperature, kNone, kNone}},
    {"memory_c",
     "Memory temperature",
     "C",
     DeviceKind::kGpu,
     {Metric::kMemoryTemperature, kNone, kNone}},
    {"sm_clock_mhz", "Clock", "MHz", DeviceKind::kGpu, {Metric::kSmClock, kNone, kNone}},
    {"gpu_utilization_pct",
     "Utilization",
     "%",
     DeviceKind::kGpu,
     {Metric::kGpuUtilization, kNone, kNone}},
    {"memory_used_bytes",
     "Memory used",
     "bytes",
     DeviceKind::kGpu,
     {Metric::kMemoryUsed, kNone, kNone}},
    {"fan_pct", "Fan", "%", DeviceKind::kGpu, {Metric::kFan, kNone, kNone}},
    {"nvlink_gb_per_s",
     "NVLink, sent",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kNvlinkSent, kNone, kNone},
     1e-9,
     true},
    {"xgmi_gb_per_s",
     "xGMI, sent",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kXgmiSent, kNone, kNone},
     1e-9,
     true},
    {"pcie_gb_per_s",
     "PCIe, sent",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kPcieSent, kNone, kNone},
     1e-9,
     true},
    {"node_power_w",
     "Node power",
     "W",
     DeviceKind::kNode,
     {Metric::kPower, Metric::kInstantPower, Metric::kAveragePower}},
    {"inlet_c",
     "Inlet temperature",
     "C",
     DeviceKind::kNode,
     {Metric::kInletTemperature, kNone, kNone}},
    {"cpu_power_w", "CPU power", "W", DeviceKind::kCpu, {Metric::kPower, kNone, kNone}},
    {"cpu_c", "CPU temperature", "C", DeviceKind::kCpu, {Metric::kCpuTemperature, kNone, kNone}},
    {"net_gb_per_s",
     "Network, sent",
     "GB/s",
     DeviceKind::kPort,
     {Metric::kNetSent, kNone, kNone},
     1e-9,
     true},
    {"memory_utilization_pct",
     "Memory busy",
     "%",
     DeviceKind::kGpu,
     {Metric::kMemoryUtilization, kNone, kNone}},
    {"memory_clock_mhz",
     "Memory clock",
     "MHz",
     DeviceKind::kGpu,
     {Metric::kMemoryClock, kNone, kNone}},
    {"memory_power_w", "Memory power", "W", DeviceKind::kGpu, {Metric::kMemoryPower, kNone, kNone}},
    {"module_power_w",
     "Power of GPU and CPU",
     "W",
     DeviceKind::kGpu,
     {Metric::kModulePower, kNone, kNone}},
    {"power_limit_w", "Power limit", "W", DeviceKind::kGpu, {Metric::kPowerLimit, kNone, kNone}},
    {"temperature_margin_c",
     "Margin to slowdown",
     "C",
     DeviceKind::kGpu,
     {Metric::kTemperatureMargin, kNone, kNone}},
    {"nvlink_received_gb_per_s",
     "NVLink, received",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kNvlinkReceived, kNone, kNone},
     1e-9,
     true},
    {"xgmi_received_gb_per_s",
     "xGMI, received",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kXgmiReceived, kNone, kNone},
     1e-9,
     true},
    {"pcie_received_gb_per_s",
     "PCIe, received",
     "GB/s",
     DeviceKind::kGpu,
     {Metric::kPcieReceived, kNone, kNone},
     1e-9,
     true},
    {"node_utilization_pct",
     "Processors busy",
     "%",
     DeviceKind::kNode,
     {Metric::kCpuUtilization, kNone, kNone}},
    {"node_memory_used_bytes",
     "Memory of the node",
     "bytes",
     DeviceKind::kNode,
     {Metric::kMemoryUsed, kNone, kNone}},
    {"node_load", "Load", "", DeviceKind::kNode, {Metric::kLoad, kNone, kNone}},
    {"outlet_c",
     "Outlet temperature",
     "C",
     DeviceKind::kNode,
     {Metric::kOutletTemperature, kNone, kNone}},
    {"node_cpu_c",
     "Processor temperature",
     "C",
     DeviceKind::kNode,
     {Metric::kCpuTemperature, kNone, kNone}},
    {"fan_speed", "Fan speed", "1/min", DeviceKind::kNode, {Metric::kFanSpeed, kNone, kNone}},
    {"cpu_utilization_pct",
     "CPU busy",
     "%",
     DeviceKind::kCpu,
     {Metric::kCpuUtilization, kNone, kNone}},
    {"cpu_energy_rate_w",
     "CPU power, by its energy counter",
     "W",
     DeviceKind::kCpu,
     {Metric::kEnergy, kNone, kNone},
     1,
     true},
    {"dram_power_w",
     "DRAM power",
     "W",
     DeviceKind::kCpu,
     {Metric::kMemoryEnergy, kNone, kNone},
     1,
     true},
    {"net_received_gb_per_s",
     "Network, received",
     "GB/s",
     DeviceKind::kPort,
     {Metric::kNetReceived, kNone, kNone},
     1e-9,
     true},
});

/// From one reading to the next; a counter that was reset says nothing.
Samples rates(const Samples& counter) {
  Samples rates;
  for (size_t i = 1; i < counter.size(); ++i) {
    const double s = static_cast<double>(counter[i].time_ns - counter[i - 1].time_ns) * 1e-9;
    const double counted = counter[i].value - counter[i - 1].value;
    if (s > 0 && counted >= 0) rates.push_back({counter[i].time_ns, counted / s});
  }
  return rates;
}

Samples samples_of(const run::Device& device, const Spec& spec) {
  for (const Metric metric : spec.sources) {
    const run::Series* series = metric == kNone ? nullptr : device.find(metric);
    if (series == nullptr || series->samples.empty()) continue;
    Samples samples = spec.rate ? rates(series->samples) : series->samples;
    for (run::Sample& sample : samples) sample.value *= spec.scale;
    return samples;
  }
  return {};
}

double mean(const Samples& samples) {
  double sum = 0;
  for (const run::Sample& sample : samples) sum += sample.value;
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

double peak(const Samples& samples) {
  double highest = samples.empty() ? 0 : samples.front().value;
  for (const run::Sample& sample : samples) highest = std::max(highest, sample.value);
  return highest;
}

}  // namespace

std::vector<MetricLines> metric_lines(const run::DeviceLog& log) {
  std::vector<MetricLines> all;
  for (const Spec& spec : kSpecs) {
    MetricLines metric{spec.name, spec.title, spec.unit, {}};
    for (const run::Device& device : log.devices) {
      if (device.kind != spec.kind) continue;
      Samples samples = samples_of(device, spec);
      if (!samples.empty()) metric.lines.push_back({&device, std::move(samples)});
    }
    if (!metric.lines.empty()) all.push_back(std::move(metric));
  }
  return all;
}

std::vector<size_t> chosen_lines(const std::vector<Line>& lines, size_t most) {
  std::set<size_t> chosen;
  const auto extremes = [&](double (*measure)(const Samples&)) {
    const auto less = [&](const Line& a, const Line& b) {
      return measure(a.samples) < measure(b.samples);
    };
    const auto [lowest, highest] = std::minmax_element(lines.begin(), lines.end(), less);
    chosen.insert(static_cast<size_t>(lowest - lines.begin()));
    chosen.insert(static_cast<size_t>(highest - lines.begin()));
  };
  if (lines.size() > most && most >= 4) {
    extremes(mean);
    extremes(peak);
  }
  const size_t count = std::min(lines.size(), most);
  for (size_t i = 0; i < count && chosen.size() < most; ++i)
    chosen.insert(i * lines.size() / count);
  return {chosen.begin(), chosen.end()};
}

}  // namespace ergometer::page
