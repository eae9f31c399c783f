#include "page/series_lines.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/collection.h"

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

constexpr Spec gauge(DeviceKind kind, const char* name, const char* title, const char* unit,
                     Metric first, Metric second = kNone, Metric third = kNone) {
  return {name, title, unit, kind, {first, second, third}};
}
/// A counter's, each second.
constexpr Spec rate(DeviceKind kind, const char* name, const char* title, const char* unit,
                    Metric counter, double scale = 1) {
  return {name, title, unit, kind, {counter, kNone, kNone}, scale, true};
}
constexpr Spec gigabytes(DeviceKind kind, const char* name, const char* title, Metric counter) {
  return rate(kind, name, title, "GB/s", counter, 1e-9);
}

constexpr auto kSpecs = [] {
  using enum Metric;
  using enum DeviceKind;
  return std::to_array<Spec>({
      gauge(kGpu, "power_w", "Power", "W", kInstantPower, kPower, kAveragePower),
      gauge(kGpu, "gpu_c", "GPU temperature", "C", kGpuTemperature),
      gauge(kGpu, "hotspot_c", "Hotspot temperature", "C", kHotspotTemperature),
      gauge(kGpu, "memory_c", "Memory temperature", "C", kMemoryTemperature),
      gauge(kGpu, "sm_clock_mhz", "Clock", "MHz", kSmClock),
      gauge(kGpu, "gpu_utilization_pct", "Utilization", "%", kGpuUtilization),
      gauge(kGpu, "memory_used_bytes", "Memory used", "bytes", kMemoryUsed),
      gauge(kGpu, "fan_pct", "Fan", "%", kFan),
      gigabytes(kGpu, "nvlink_gb_per_s", "NVLink, sent", kNvlinkSent),
      gigabytes(kGpu, "xgmi_gb_per_s", "xGMI, sent", kXgmiSent),
      gigabytes(kGpu, "pcie_gb_per_s", "PCIe, sent", kPcieSent),
      gauge(kNode, "node_power_w", "Node power", "W", kPower, kInstantPower, kAveragePower),
      gauge(kNode, "inlet_c", "Inlet temperature", "C", kInletTemperature),
      gauge(kCpu, "cpu_power_w", "CPU power", "W", kPower),
      gauge(kCpu, "cpu_c", "CPU temperature", "C", kCpuTemperature),
      gigabytes(kPort, "net_gb_per_s", "Network, sent", kNetSent),
      gauge(kGpu, "memory_utilization_pct", "Memory busy", "%", kMemoryUtilization),
      gauge(kGpu, "memory_clock_mhz", "Memory clock", "MHz", kMemoryClock),
      gauge(kGpu, "memory_power_w", "Memory power", "W", kMemoryPower),
      gauge(kGpu, "module_power_w", "Power of GPU and CPU", "W", kModulePower),
      gauge(kGpu, "power_limit_w", "Power limit", "W", kPowerLimit),
      gauge(kGpu, "temperature_margin_c", "Margin to slowdown", "C", kTemperatureMargin),
      gigabytes(kGpu, "nvlink_received_gb_per_s", "NVLink, received", kNvlinkReceived),
      gigabytes(kGpu, "xgmi_received_gb_per_s", "xGMI, received", kXgmiReceived),
      gigabytes(kGpu, "pcie_received_gb_per_s", "PCIe, received", kPcieReceived),
      gauge(kNode, "node_utilization_pct", "Processors busy", "%", kCpuUtilization),
      gauge(kNode, "node_memory_used_bytes", "Memory of the node", "bytes", kMemoryUsed),
      gauge(kNode, "node_load", "Load", "", kLoad),
      gauge(kNode, "outlet_c", "Outlet temperature", "C", kOutletTemperature),
      gauge(kNode, "node_cpu_c", "Processor temperature", "C", kCpuTemperature),
      gauge(kNode, "fan_speed", "Fan speed", "1/min", kFanSpeed),
      gauge(kCpu, "cpu_utilization_pct", "CPU busy", "%", kCpuUtilization),
      rate(kCpu, "cpu_energy_rate_w", "CPU power, by its energy counter", "W", kEnergy),
      rate(kCpu, "dram_power_w", "DRAM power", "W", kMemoryEnergy),
      gigabytes(kPort, "net_received_gb_per_s", "Network, received", kNetReceived),
  });
}();

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
  const double sum = base::sum(samples, [&](const run::Sample& sample) { return sample.value; });
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
    const auto [lowest, highest] = std::ranges::minmax_element(lines, less);
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
