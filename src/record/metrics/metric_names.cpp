#include "record/metrics/metric_names.h"

#include <fmt/format.h>

#include <array>

namespace ergometer::record {
namespace {

using run::ExportedName;
using run::Metric;

constexpr double kToMilli = 1e3, kToNano = 1e9, kToMi = 1.0 / 1048576;

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

std::string index_of(const run::Device& device) {
  const int64_t index = device.index >= 0 ? device.index : device.rank;
  return index >= 0 ? fmt::format("{}", index) : "";
}

DeviceLabels own_labels(const run::Device& device) {
  const std::string_view kind = run::kind_name(device.kind);
  const std::string index = index_of(device);
  DeviceLabels labels;
  if (device.kind == run::DeviceKind::kGpu) {
    labels = {{kind, index}, {"uuid", device.uuid}, {"model", device.name}};
    if (device.rank >= 0) labels.emplace_back("rank", fmt::format("{}", device.rank));
  } else {
    const bool named = run::told_by_name(device.kind) && !device.name.empty();
    labels = {{kind, named ? device.name : index}};
  }
  labels.emplace_back("host", device.host);
  std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
  return labels;
}

const ExportedName* dcgm_name(Metric metric) {
  for (const DcgmName& known : kDcgm)
    if (known.metric == metric) return &known.exported;
  return nullptr;
}

}  // namespace ergometer::record
