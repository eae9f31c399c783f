#include "analysis/telemetry/energy_error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "analysis/math/sum.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

/// How far updates that follow each other differ: sqrt(mean of squared differences / 2), W.
double scatter_of(std::span<const run::Sample> points) {
  if (points.size() < 2) return 0;
  double sum = 0;
  for (size_t i = 1; i < points.size(); ++i)
    sum += std::pow(points[i].value - points[i - 1].value, 2);
  return std::sqrt(sum / (2 * static_cast<double>(points.size() - 1)));
}

/// Those of a stretch of time; all of them where it has too few to say how they differ.
std::span<const run::Sample> enough_within(std::span<const run::Sample> updates, TimeSpan within) {
  constexpr ptrdiff_t kFewestToDiffer = 8;
  const auto from = std::ranges::lower_bound(updates, within.from_ns, {}, &run::Sample::time_ns);
  const auto to = std::ranges::upper_bound(updates, within.to_ns, {}, &run::Sample::time_ns);
  return to - from < kFewestToDiffer ? updates : std::span(from, to);
}

/// Updates that repeat a value are none of `distinct`, and are looks all the same.
run::Looks looks_of(const DeviceReport& report, std::string_view way, double efficiency) {
  run::Looks looks;
  double recorded = seconds(report.end_ns - report.start_ns);
  for (const auto* left_out : {&report.gaps, &report.resets}) recorded -= length_s(*left_out);
  looks.duration_s = std::max(0.0, recorded);
  looks.interval_s =
      report.updates.period_s > 0 ? report.updates.period_s : report.updates.reading_interval_s;
  if (way == "counter") looks.counter_s = report.counter_s;
  if (way == "counter" || way == "windows") return looks;
  if (looks.interval_s > 0) looks.count = std::max(1.0, looks.duration_s / looks.interval_s);
  // Updates are as read, means behind the conversion.
  if (report.mean_w > 0)
    looks.scatter = scatter_of(report.updates.points) / (report.mean_w * efficiency);
  return looks;
}

/// Where readings beat with the load, what whole beats say instead of instant power.
double beat_of(const DeviceReport& report) {
  const EnergyWay& first = report.energies.front();
  if (report.energies.size() < 2 || !(first.energy_j > 0)) return 0;
  const bool instant = first.way == "instant_power" || first.way == "power";
  const EnergyWay& last = report.energies.back();
  if (!instant || last.way != "instant_power_whole_beats") return 0;
  return std::abs(last.energy_j - first.energy_j) / first.energy_j;
}

run::EnergyError error_of(const run::Device& device, const DeviceReport& report) {
  run::EnergyError error = {.stated = false};
  if (!report.has_power && report.energies.empty()) return error;
  const bool summed = !report.energies.empty();
  const std::string& way = summed ? report.energies.front().way : report.power_metric;
  const run::SensorFacts facts = run::sensor_facts(device, way);
  error = run::gain_of(facts);
  if (!summed) return error;
  run::Looks looks = looks_of(report, way, device.conversion_efficiency);
  looks.beat = beat_of(report);
  error.unseen = run::unseen(facts, looks);
  return error;
}

/// The report of the meter that says what `gpu`'s energy is off; null where none does for sure.
const MeterReport* meter_of(const run::Device& gpu, const DeviceReport& device,
                            const TelemetryReport& report) {
  const auto gpus = std::ranges::count(report.devices, run::DeviceKind::kGpu, &DeviceReport::kind);
  if (device.kind != run::DeviceKind::kGpu || gpus != 1 || report.meters.size() != 1 ||
      device.energies.empty())
    return nullptr;
  // As compare_meters chooses.
  const bool instant = gpu.find(run::Metric::kInstantPower) != nullptr;
  if (device.energies.front().way != (instant ? "instant_power" : "power")) return nullptr;
  const MeterReport& meter = report.meters.front();
  constexpr double kMost = 0.9, kAllOfIt = 100;
  const bool covers = meter.common_s >= kMost * seconds(device.end_ns - device.start_ns);
  // Also no number: the meter saw nothing.
  const bool same_board = std::abs(meter.sensor_error_pct) < kAllOfIt;
  return covers && same_board ? &meter : nullptr;
}

/// The deviation from the meter as half of an interval, with the meter's own error.
run::EnergyError by_meter(const MeterReport& meter) {
  run::Device device;
  device.kind = run::DeviceKind::kMeter;
  run::EnergyError error = run::gain_of(run::sensor_facts(device, "power"));
  const double one_percent = run::EnergyError{0.01, 0, 0, true, true}.percent();
  error.common = std::hypot(error.common, 0.01 * std::abs(meter.sensor_error_pct) / one_percent);
  return error;
}

run::EnergyError of_all(const std::vector<DeviceReport>& devices, run::DeviceKind kind,
                        const std::string* host = nullptr) {
  std::vector<run::MeasuredEnergy> energies;
  for (const DeviceReport& device : devices)
    if (device.kind == kind && device.error.stated && !device.energies.empty() &&
        (host == nullptr || device.host == *host))
      energies.push_back({device.energy_j, device.error});
  return run::error_of_sum(energies);
}

}  // namespace

void state_errors(const run::DeviceLog& log, TelemetryReport& report) {
  if (log.source == "simulated") return;
  for (size_t i = 0; i < report.devices.size(); ++i) {
    DeviceReport& device = report.devices[i];
    device.error = error_of(log.devices[i], device);
    if (const MeterReport* meter = meter_of(log.devices[i], device, report))
      device.error = by_meter(*meter);
    if (!log.devices[i].windows.empty())
      device.windows_error = run::gain_of(run::sensor_facts(log.devices[i], "windows"));
  }
}

double unseen_between_readings(const run::Device& device, const PowerReadings& readings,
                               TimeSpan within, double seconds_long) {
  const std::span<const run::Sample> updates = enough_within(readings.updates, within);
  const double mean_w =
      base::sum(updates, &run::Sample::value) / std::max<double>(1, std::ssize(updates));
  if (!(mean_w > 0) || !(readings.period_s > 0)) return 0;
  return run::unseen(run::sensor_facts(device, readings.way),
                     {.count = std::max(1.0, seconds_long / readings.period_s),
                      .interval_s = readings.period_s,
                      .scatter = scatter_of(updates) / mean_w,
                      .duration_s = seconds_long});
}

run::EnergyError error_of_gpus(const std::vector<DeviceReport>& devices) {
  return of_all(devices, run::DeviceKind::kGpu);
}

run::EnergyError error_of_mean_power(const std::vector<DeviceReport>& devices) {
  std::vector<run::MeasuredEnergy> powers;
  for (const DeviceReport& device : devices)
    if (device.kind == run::DeviceKind::kGpu && device.error.stated)
      powers.push_back({device.mean_w, device.error});
  return run::error_of_sum(powers);
}

run::EnergyError error_of_nodes(const std::vector<DeviceReport>& devices) {
  return of_all(devices, run::DeviceKind::kNode);
}

run::EnergyError error_of_cpus(const std::vector<DeviceReport>& devices) {
  return of_all(devices, run::DeviceKind::kCpu);
}

std::vector<HostEnergy> energy_by_host(const std::vector<DeviceReport>& devices) {
  std::map<std::string, HostEnergy> hosts;
  for (const DeviceReport& device : devices) {
    if (device.kind != run::DeviceKind::kGpu || device.energies.empty()) continue;
    HostEnergy& host = hosts[device.host];
    host.host = device.host;
    ++host.gpus;
    host.gpu_energy_j += device.energy_j;
  }
  std::vector<HostEnergy> result;
  for (auto& [name, host] : hosts) {
    host.error = of_all(devices, run::DeviceKind::kGpu, &name);
    result.push_back(std::move(host));
  }
  return result;
}

}  // namespace ergometer::analysis
