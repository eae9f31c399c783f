#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "import/telemetry/readers.h"
#include "import/telemetry/value.h"
#include "import/text/decimal.h"
#include "run/event_reasons.h"

namespace ergometer::importer {
namespace {

using run::Metric;

constexpr double kMilli = 1e-3, kMicro = 1e-6, kNano = 1e-9;
constexpr std::array kExported = std::to_array<Exported>({
    // DCGM, names before and since version 5
    {"DCGM_FI_DEV_POWER_USAGE", Metric::kPower},
    {"DCGM_FI_DEV_BOARD_POWER_WATTS", Metric::kPower},
    {"DCGM_FI_DEV_POWER_USAGE_INSTANT", Metric::kInstantPower},
    {"DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", Metric::kInstantPower},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Metric::kEnergy, kMilli},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", Metric::kPowerLimit},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", Metric::kPowerLimit},
    {"DCGM_FI_DEV_GPU_TEMP", Metric::kGpuTemperature},
    {"DCGM_FI_DEV_GPU_TEMP_CELSIUS", Metric::kGpuTemperature},
    {"DCGM_FI_DEV_MEMORY_TEMP", Metric::kMemoryTemperature},
    {"DCGM_FI_DEV_MEMORY_TEMP_CELSIUS", Metric::kMemoryTemperature},
    {"DCGM_FI_DEV_SM_CLOCK", Metric::kSmClock},
    {"DCGM_FI_DEV_MEM_CLOCK", Metric::kMemoryClock},
    {"DCGM_FI_DEV_GPU_UTIL", Metric::kGpuUtilization},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", Metric::kMemoryUtilization},
    {"DCGM_FI_DEV_FB_USED", Metric::kMemoryUsed, kMi},
    {"DCGM_FI_DEV_FAN_SPEED", Metric::kFan},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Metric::kEventReasons},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Metric::kEventReasons},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", Metric::kSwPowerCapTime, kNano},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS", Metric::kSyncBoostTime, kNano},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS", Metric::kSwThermalTime, kNano},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", Metric::kHwThermalTime, kNano},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_NS", Metric::kHwPowerBrakeTime, kNano},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", Metric::kPcieSentRate},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", Metric::kPcieReceivedRate},
    // omnistat
    {"rocm_average_socket_power_watts", Metric::kAveragePower},
    {"rocm_current_socket_power_watts", Metric::kInstantPower},
    {"rocm_energy_joules", Metric::kEnergy},
    {"rocm_power_cap_watts", Metric::kPowerLimit},
    {"rocm_temperature_celsius", Metric::kGpuTemperature},
    {"rocm_temperature_memory_celsius", Metric::kMemoryTemperature},
    {"rocm_sclk_clock_mhz", Metric::kSmClock},
    {"rocm_mclk_clock_mhz", Metric::kMemoryClock},
    {"rocm_utilization_percentage", Metric::kGpuUtilization},
    // nvidia_gpu_exporter, which names nvidia-smi's fields
    {"nvidia_smi_power_draw_watts", Metric::kPower},
    {"nvidia_smi_power_draw_instant_watts", Metric::kInstantPower},
    {"nvidia_smi_power_draw_average_watts", Metric::kAveragePower},
    {"nvidia_smi_temperature_gpu", Metric::kGpuTemperature},
    {"nvidia_smi_temperature_memory", Metric::kMemoryTemperature},
    {"nvidia_smi_clocks_current_sm_clock_hz", Metric::kSmClock, kMicro},
    {"nvidia_smi_clocks_sm_hz", Metric::kSmClock, kMicro},
    {"nvidia_smi_utilization_gpu_ratio", Metric::kGpuUtilization, 100},
});

/// Labels that say what is measured, not where.
std::string kind_labels(const std::vector<Label>& labels) {
  std::string text;
  for (const Label& l : labels) {
    if (l.name == "ip" || l.name == "job_name" || l.name == "pod_name" || l.name == "rank" ||
        l.name == "local_rank")
      continue;
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", l.name, l.value);
  }
  return text;
}

int64_t index_of(std::string_view text) {
  const auto index = whole_number(text);
  return index && *index >= 0 ? *index : -1;
}

/// DCGM's and others' way to say that there is no value.
constexpr double kNoData = 9223372036854775792.0;

/// Where GPUs have several sensors under one name, the one that stands for the GPU: an MI250's edge
/// and an MI300's junction, whichever comes.
bool is_other_sensor(std::string_view name, const std::vector<Label>& labels) {
  const std::string_view location = label(labels, {"location", "sensor"});
  return name == "rocm_temperature_celsius" && location == "memory";
}

}  // namespace

const Exported* exported(std::string_view name) {
  const auto* const known = std::ranges::find(kExported, name, &Exported::name);
  return known == kExported.end() ? nullptr : known;
}

std::string_view label(const std::vector<Label>& labels,
                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const Label& it : labels)
      if (it.name == name && !it.value.empty()) return it.value;
  return {};
}

void ExportedSamples::add(std::string_view name, const std::vector<Label>& labels, int64_t time_ns,
                          double value) {
  if (name.starts_with("XPU_TIMER_")) return add_gauge(name, labels, value);
  if (const auto own = run::own_family_of(name)) return add_own(*own, labels, time_ns, value);
  if (add_own_step(name, time_ns, value)) return;
  if (collectives_.add(name, labels, time_ns, value)) return void(++taken_);
  const Exported* const known = exported(name);
  if (known == nullptr || is_other_sensor(name, labels)) return add_unknown(name);
  if (std::abs(value) >= kNoData)
    return log_.drop(fmt::format("{}: the exporter's sign for no data", name));
  const std::string host(label(labels, {"Hostname", "hostname", "host", "node", "instance"}));
  const std::string uuid(label(labels, {"UUID", "uuid"}));
  const std::string_view index = label(labels, {"gpu", "card", "gpu_id", "index", "device"});
  const std::string id(index.empty() ? uuid : index);
  const size_t device = log_.device_number(run::DeviceKind::kGpu, host, id);
  if (!is_of_board(device, known->metric, label(labels, {"GPU_I_ID"}))) return;
  run::Device& d = log_.device_at(device);
  d.index = index_of(index);
  if (!uuid.empty()) d.uuid = uuid;
  const std::string_view model = label(labels, {"modelName", "name"});
  if (!model.empty()) d.name = model;
  put(device, known->metric, time_ns, value * known->factor);
}

void ExportedSamples::put(size_t device, run::Metric metric, int64_t time_ns, double value) {
  if (time_ns < 0) ++untimed_;
  log_.add(device, metric, std::max<int64_t>(time_ns, 0), value);
  ++taken_;
}

void ExportedSamples::add_gauge(std::string_view name, const std::vector<Label>& labels,
                                double value) {
  constexpr double kMostValue = 1e18;
  if (!(std::abs(value) <= kMostValue))
    return log_.drop(fmt::format("{}: not a number, or too large for one", name));
  log_.log().gauges.push_back(
      {std::string(name), kind_labels(labels), index_of(label(labels, {"rank"})), value});
  ++taken_;
}

void ExportedSamples::add_unknown(std::string_view name) {
  const auto at = unknown_.find(name);
  at != unknown_.end() ? void(++at->second) : void(unknown_.emplace(name, 1));
}

/// What `record --listen` and `record --otlp` tell, in the labels that they give it.
void ExportedSamples::add_own(const run::OwnFamily& own, const std::vector<Label>& labels,
                              int64_t time_ns, double value) {
  const std::string host(label(labels, {"host", "instance"}));
  const std::string uuid(label(labels, {"uuid"}));
  const std::string_view which = label(labels, {run::kind_name(own.kind)});
  const std::string id(which.empty() ? std::string_view(uuid) : which);
  const size_t device = log_.device_number(own.kind, host, id);
  run::Device& d = log_.device_at(device);
  const bool by_index = own.kind == run::DeviceKind::kGpu || own.kind == run::DeviceKind::kCpu;
  if (by_index) {
    d.index = index_of(which);
    d.name = label(labels, {"model"});
  } else {
    d.name = which;
  }
  d.uuid = uuid;
  if (const int64_t rank = index_of(label(labels, {"rank"})); rank >= 0) d.rank = rank;
  if (own.metric != run::Metric::kEventReasons)
    return put(device, own.metric, time_ns, value / run::own_name(own.metric).scale);
  ++taken_;
  int64_t& bits = reasons_[{device, time_ns}];
  const std::string_view reason = label(labels, {"reason"});
  for (const run::EventReasonName& known : run::kEventReasons)
    if (known.name == reason && value > 0) bits |= known.bit;
}

bool ExportedSamples::add_own_step(std::string_view name, int64_t time_ns, double value) {
  constexpr double kMostNumber = 1e15;
  if (name != run::kStepSeconds && name != run::kStepNumber && name != run::kStepRate) return false;
  if (!(value >= 0 && value <= kMostNumber)) return true;
  run::TrainingStep& step = steps_[std::max<int64_t>(time_ns, 0)];
  ++taken_;
  if (name == run::kStepSeconds) step.seconds = value;
  if (name == run::kStepNumber) step.number = std::llround(value);
  if (name == run::kStepRate) step.tokens_per_s_per_gpu = value;
  return true;
}

/// Instances of a GPU (MIG) share its board, whose readings stand at each of them: they count once.
/// What is an instance's own is not the GPU's.
bool ExportedSamples::is_of_board(size_t device, run::Metric metric, std::string_view instance) {
  if (instance.empty()) return true;
  const bool own = metric == Metric::kMemoryUsed || metric == Metric::kGpuUtilization ||
                   metric == Metric::kMemoryUtilization || metric == Metric::kPcieSentRate ||
                   metric == Metric::kPcieReceivedRate;
  const char* const name = run::metric_info(metric).name;
  if (own) {
    log_.drop(fmt::format("{}: of a MIG instance alone, not of its GPU", name));
    return false;
  }
  const auto [first, is_new] = instances_.emplace(std::pair(device, metric), instance);
  if (first->second == instance) return true;
  log_.drop(fmt::format("{}: of the GPU's board, once more at another MIG instance", name));
  return false;
}

void ExportedSamples::finish() {
  for (const auto& [of, bits] : reasons_)
    put(of.first, run::Metric::kEventReasons, of.second, static_cast<double>(bits));
  collectives_.finish(log_);
  std::vector<run::TrainingStep> steps;
  for (auto [time_ns, step] : steps_) {
    step.end_ns = time_ns;
    // It is told again until the next one ends, by some without its number.
    const bool again = !steps.empty() && steps.back().number == step.number &&
                       steps.back().seconds == step.seconds;
    if (step.seconds > 0 && !again) steps.push_back(step);
  }
  if (!steps.empty()) add_training(std::move(steps), log_);
  for (const auto& [name, count] : unknown_) log_.drop(name + " is no telemetry of a GPU", count);
  if (untimed_ > 0)
    log_.note("{}: samples without a time; nothing can be said over time", log_.file());
}

}  // namespace ergometer::importer
