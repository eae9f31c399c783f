#include "run/exported_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ergometer::run {
namespace {

constexpr double kPercent = 0.01, kMega = 1e6;

constexpr std::array kOwn = std::to_array<ExportedName>({
    {"power_watts", "watts", 1,
     "Power as the driver states it, a mean over time or the latest "
     "value by architecture; of a node at its plug."},
    {"instant_power_watts", "watts", 1, "The power sensor's latest value."},
    {"average_power_watts", "watts", 1, "Power, a mean over the last second."},
    {"memory_power_watts", "watts", 1, "The part of the power that is the memory's."},
    {"module_power_watts", "watts", 1, "Power of GPU and CPU of one module."},
    {"power_limit_watts", "watts", 1, "The power limit in force."},
    {"energy_joules", "joules", 1, "Energy used, by the device's own counter."},
    {"temperature_celsius", "celsius", 1, "Temperature of the chip."},
    {"memory_temperature_celsius", "celsius", 1, "Temperature of the memory."},
    {"sm_clock_hertz", "hertz", kMega,
     "Clock of the streaming multiprocessors, of AMD the compute units."},
    {"memory_clock_hertz", "hertz", kMega, "Clock of the memory."},
    {"utilization_ratio", "ratio", kPercent, "Share of time with a kernel on the GPU."},
    {"memory_utilization_ratio", "ratio", kPercent, "Share of time with memory traffic."},
    {"memory_used_bytes", "bytes", 1, "Memory in use."},
    {"fan_ratio", "ratio", kPercent, "Fan speed as a share of the highest."},
    {"clock_event_reason", "", 1, "Whether this holds the clock down: 1 or 0."},
    {"pcie_transmit_bytes", "bytes", 1, "Bytes sent over PCIe."},
    {"pcie_receive_bytes", "bytes", 1, "Bytes received over PCIe."},
    {"nvlink_transmit_bytes", "bytes", 1, "Bytes sent over NVLink, all links."},
    {"nvlink_receive_bytes", "bytes", 1, "Bytes received over NVLink, all links."},
    {"pcie_transmit_bytes_per_second", "bytes_per_second", 1, "Rate of bytes sent over PCIe."},
    {"pcie_receive_bytes_per_second", "bytes_per_second", 1, "Rate of bytes received over PCIe."},
    {"sw_power_cap_seconds", "seconds", 1, "Time below the clock asked for by the power limit."},
    {"sync_boost_seconds", "seconds", 1, "Time below the clock asked for by a boost group."},
    {"sw_thermal_seconds", "seconds", 1,
     "Time below the clock asked for by the driver's temperature limit."},
    {"hw_thermal_seconds", "seconds", 1,
     "Time below the clock asked for by the hardware's temperature limit."},
    {"hw_power_brake_seconds", "seconds", 1,
     "Time below the clock asked for by a brake signal from outside."},
    {"hotspot_temperature_celsius", "celsius", 1, "Temperature of the hottest place of the chip."},
    {"temperature_margin_celsius", "celsius", 1,
     "Degrees below the temperature at which the GPU slows itself down."},
    {"fabric_clock_hertz", "hertz", kMega, "Clock of the chip's own network."},
    {"pcie_replays", "", 1, "Packets sent once more over PCIe."},
    {"ecc_corrected_errors", "", 1, "Memory errors that were corrected."},
    {"ecc_uncorrected_errors", "", 1, "Memory errors that could not be corrected."},
    {"nvlink_errors", "", 1, "Errors of NVLink or xGMI links."},
    {"last_xid", "", 1, "Number of the driver's latest error message (XID)."},
    {"memory_energy_joules", "joules", 1, "Energy used by the memory; of a CPU its DRAM."},
    {"cpu_utilization_ratio", "ratio", kPercent, "Share of time in which processors do not idle."},
    {"load", "", 1, "Processes that run or wait to, mean over a minute."},
    {"inlet_temperature_celsius", "celsius", 1, "Temperature of the air that comes in."},
    {"outlet_temperature_celsius", "celsius", 1, "Temperature of the air that goes out."},
    {"fan_speed_rpm", "rpm", 1, "Revolutions of the fans in a minute, their mean."},
    {"transmit_bytes", "bytes", 1, "Bytes sent."},
    {"receive_bytes", "bytes", 1, "Bytes received."},
    {"errors", "", 1, "Packets lost or damaged, and links that failed."},
    {"transmit_wait_ticks", "", 1,
     "The port's ticks in which data waited for a credit to be sent."},
    {"line_rate_bytes_per_second", "bytes_per_second", 1, "What the line carries at most."},
    {"package_temperature_celsius", "celsius", 1, "Temperature of the CPU package."},
    {"xgmi_write_bytes", "bytes", 1, "Bytes written to other GPUs over xGMI."},
    {"xgmi_read_bytes", "bytes", 1, "Bytes read from other GPUs over xGMI."},
});
static_assert(kOwn.size() == static_cast<size_t>(Metric::kCount));

constexpr std::string_view kOurs = "ergometer_", kTotal = "_total";

constexpr std::string_view kByteRate = "By/s";
// OpenTelemetry's "Prometheus and OpenMetrics Compatibility", units as instruments name them.
constexpr std::array kUnitNames = std::to_array<UnitName>({{"W", "watts"},
                                                           {"J", "joules"},
                                                           {"Cel", "celsius"},
                                                           {"Hz", "hertz"},
                                                           {"1", "ratio"},
                                                           {"By", "bytes"},
                                                           {kByteRate, "bytes_per_second"},
                                                           {"s", "seconds"},
                                                           {"ms", "milliseconds"}});

std::optional<DeviceKind> kind_called(std::string_view word) {
  for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kNode, DeviceKind::kSwitch,
                                DeviceKind::kMeter, DeviceKind::kCpu, DeviceKind::kPort})
    if (word == kind_name(kind)) return kind;
  return std::nullopt;
}

}  // namespace

const ExportedName& own_name(Metric metric) { return kOwn[static_cast<size_t>(metric)]; }

std::string own_family(DeviceKind kind, Metric metric) {
  return fmt::format("{}{}_{}", kOurs, kind_name(kind), own_name(metric).name);
}

std::span<const UnitName> unit_names() { return kUnitNames; }

OtlpName otlp_name(DeviceKind kind, Metric metric) {
  const ExportedName& own = own_name(metric);
  const auto* const known = std::ranges::find(kUnitNames, own.unit, &UnitName::prometheus);
  const std::string_view unit = known == kUnitNames.end() ? "" : known->otlp;
  // A rate keeps it in its name, beside the counter that is named alike.
  const bool apart = !unit.empty() && unit != kByteRate;
  const std::string_view name =
      apart ? own.name.substr(0, own.name.size() - own.unit.size() - 1) : own.name;
  return {fmt::format("ergometer.{}.{}", kind_name(kind), name), unit};
}

std::optional<OwnFamily> own_family_of(std::string_view name) {
  if (!name.starts_with(kOurs)) return std::nullopt;
  name.remove_prefix(kOurs.size());
  if (name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
  const size_t end = name.find('_');
  if (end == std::string_view::npos) return std::nullopt;
  const auto kind = kind_called(name.substr(0, end));
  if (!kind) return std::nullopt;
  for (size_t m = 0; m < kOwn.size(); ++m)
    if (kOwn[m].name == name.substr(end + 1)) return OwnFamily{*kind, static_cast<Metric>(m)};
  return std::nullopt;
}

}  // namespace ergometer::run
