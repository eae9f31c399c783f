#include "record/metrics/metric_names.h"

#include <fmt/format.h>

#include <array>

namespace ergometer::record {
namespace {

using run::Metric;

constexpr double kPercent = 0.01, kMega = 1e6;
constexpr double kToMilli = 1e3, kToNano = 1e9, kToMi = 1.0 / 1048576;

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
     "Time below the clock asked for by the driver's "
     "temperature limit."},
    {"hw_thermal_seconds", "seconds", 1,
     "Time below the clock asked for by the hardware's "
     "temperature limit."},
    {"hw_power_brake_seconds", "seconds", 1,
     "Time below the clock asked for by a brake signal "
     "from outside."},
    {"hotspot_temperature_celsius", "celsius", 1, "Temperature of the hottest place of the chip."},
    {"temperature_margin_celsius", "celsius", 1,
     "Degrees below the temperature at which the GPU "
     "slows itself down."},
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

struct DcgmName {
  Metric metric;
  ExportedName exported;
};
// Names, units and kinds of dcgm-exporter's default-counters.csv and DCGM's dcgm_fields.h.
constexpr std::array kDcgm = std::to_array<DcgmName>({
    {Metric::kPower, {"DCGM_FI_DEV_POWER_USAGE", "W", 1, "Power draw (in W)."}},
    {Metric::kInstantPower,
     {"DCGM_FI_DEV_POWER_USAGE_INSTANT", "W", 1, "Instantaneous power draw (in W)."}},
    {Metric::kPowerLimit,
     {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "W", 1, "Power limit in force (in W)."}},
    {Metric::kEnergy,
     {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "mJ", kToMilli,
      "Total energy consumption since boot (in mJ)."}},
    {Metric::kGpuTemperature, {"DCGM_FI_DEV_GPU_TEMP", "C", 1, "GPU temperature (in C)."}},
    {Metric::kMemoryTemperature, {"DCGM_FI_DEV_MEMORY_TEMP", "C", 1, "Memory temperature (in C)."}},
    {Metric::kSmClock, {"DCGM_FI_DEV_SM_CLOCK", "MHz", 1, "SM clock frequency (in MHz)."}},
    {Metric::kMemoryClock, {"DCGM_FI_DEV_MEM_CLOCK", "MHz", 1, "Memory clock frequency (in MHz)."}},
    {Metric::kGpuUtilization, {"DCGM_FI_DEV_GPU_UTIL", "%", 1, "GPU utilization (in %)."}},
    {Metric::kMemoryUtilization,
     {"DCGM_FI_DEV_MEM_COPY_UTIL", "%", 1, "Memory utilization (in %)."}},
    {Metric::kMemoryUsed,
     {"DCGM_FI_DEV_FB_USED", "MiB", kToMi, "Framebuffer memory used (in MiB)."}},
    {Metric::kFan, {"DCGM_FI_DEV_FAN_SPEED", "%", 1, "Fan speed (in %)."}},
    {Metric::kEventReasons,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "bits", 1, "Clock event reasons (bits of NVML)."}},
    {Metric::kSwPowerCapTime,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", "ns", kToNano,
      "Time throttled by the power cap (in ns)."}},
    {Metric::kSyncBoostTime,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS", "ns", kToNano,
      "Time throttled by a sync boost group (in ns)."}},
    {Metric::kSwThermalTime,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS", "ns", kToNano,
      "Time throttled by the driver's temperature limit (in ns)."}},
    {Metric::kHwThermalTime,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", "ns", kToNano,
      "Time throttled by the hardware's temperature limit (in ns)."}},
    {Metric::kHwPowerBrakeTime,
     {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_NS", "ns", kToNano,
      "Time throttled by an external brake signal (in ns)."}},
    {Metric::kPcieSentRate,
     {"DCGM_FI_PROF_PCIE_TX_BYTES", "B/s", 1, "Rate of PCIe data sent (in B/s)."}},
    {Metric::kPcieReceivedRate,
     {"DCGM_FI_PROF_PCIE_RX_BYTES", "B/s", 1, "Rate of PCIe data received (in B/s)."}},
    {Metric::kPcieReplays,
     {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "", 1, "Total number of PCIe retries."}},
    {Metric::kXid, {"DCGM_FI_DEV_XID_ERRORS", "", 1, "Value of the last XID error encountered."}},
});

}  // namespace

const ExportedName& own_name(Metric metric) { return kOwn[static_cast<size_t>(metric)]; }

std::string own_family(run::DeviceKind kind, Metric metric) {
  return fmt::format("ergometer_{}_{}", run::kind_name(kind), own_name(metric).name);
}

const ExportedName* dcgm_name(Metric metric) {
  for (const DcgmName& known : kDcgm)
    if (known.metric == metric) return &known.exported;
  return nullptr;
}

}  // namespace ergometer::record
