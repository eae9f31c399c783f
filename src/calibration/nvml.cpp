#include "calibration/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ergometer::calibration {
namespace {

using base::Result;

constexpr double kMilli = 1e-3, kMega = 1e6;
// Numbers of NVML's interface: nvml.h.
constexpr int kSuccess = 0;
constexpr int kGpuTemperature = 0, kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kMemoryTemperature = 82, kPowerAverage = 185, kPowerInstant = 186;
constexpr int kDouble = 0, kUnsignedInt = 1;

}  // namespace

Nvml::Nvml(Nvml&& other) noexcept
    : library_(std::move(other.library_)),
      call_(other.call_),
      device_(other.device_),
      open_(std::exchange(other.open_, false)) {}

Nvml::~Nvml() {
  if (open_) call_.shutdown();
}

Result<void> Nvml::check(int status, const char* what) const {
  if (status == kSuccess) return {};
  return tl::unexpected(base::Error{base::ErrorKind::kMissing,
                                    fmt::format("NVML: {}: {}", what, call_.error_string(status))});
}

Result<void> Nvml::find_functions() {
  const SharedLibrary& it = library_;
  ERGOMETER_TRY(it.find("nvmlInit_v2", call_.init));
  ERGOMETER_TRY(it.find("nvmlShutdown", call_.shutdown));
  ERGOMETER_TRY(it.find("nvmlErrorString", call_.error_string));
  ERGOMETER_TRY(it.find("nvmlDeviceGetHandleByIndex_v2", call_.handle_by_index));
  ERGOMETER_TRY(it.find("nvmlDeviceGetName", call_.name));
  ERGOMETER_TRY(it.find("nvmlDeviceGetPciInfo_v3", call_.pci_info));
  ERGOMETER_TRY(it.find("nvmlDeviceGetTemperature", call_.temperature));
  ERGOMETER_TRY(it.find("nvmlDeviceGetClockInfo", call_.clock));
  ERGOMETER_TRY(it.find("nvmlDeviceGetMaxClockInfo", call_.highest_clock));
  ERGOMETER_TRY(it.find("nvmlDeviceGetSupportedGraphicsClocks", call_.graphics_clocks));
  ERGOMETER_TRY(it.find("nvmlDeviceGetPowerManagementDefaultLimit", call_.default_cap));
  ERGOMETER_TRY(it.find("nvmlDeviceGetPowerManagementLimitConstraints", call_.cap_range));
  ERGOMETER_TRY(it.find("nvmlDeviceSetPowerManagementLimit", call_.set_cap));
  ERGOMETER_TRY(it.find("nvmlDeviceSetGpuLockedClocks", call_.lock_clocks));
  ERGOMETER_TRY(it.find("nvmlDeviceResetGpuLockedClocks", call_.reset_clocks));
  ERGOMETER_TRY(it.find("nvmlDeviceGetFieldValues", call_.field_values));
  ERGOMETER_TRY(it.find("nvmlDeviceGetPowerUsage", call_.power));
  // Named anew in release 535.
  it.find_if_there("nvmlDeviceGetCurrentClocksEventReasons", call_.reasons);
  if (call_.reasons != nullptr) return {};
  return it.find("nvmlDeviceGetCurrentClocksThrottleReasons", call_.reasons);
}

Result<Nvml> Nvml::open(const std::vector<std::string>& names, unsigned index) {
  ERGOMETER_ASSIGN(SharedLibrary library, SharedLibrary::open(names));
  Nvml result(std::move(library));
  ERGOMETER_TRY(result.find_functions());
  ERGOMETER_TRY(result.check(result.call_.init(), "start"));
  result.open_ = true;
  ERGOMETER_TRY(result.check(result.call_.handle_by_index(index, &result.device_),
                             fmt::format("GPU {}", index).c_str()));
  return result;
}

/// The lowest clock at the memory clock in force; that clock itself where the list is not given.
double Nvml::lowest_clock_mhz() const {
  unsigned memory = 0, lowest = 0;
  call_.clock(device_, kSmClock, &lowest);
  if (call_.clock(device_, kMemoryClock, &memory) != kSuccess) return lowest;
  constexpr unsigned kMostClocks = 1024;
  std::vector<unsigned> clocks(kMostClocks);
  unsigned count = kMostClocks;
  if (call_.graphics_clocks(device_, memory, &count, clocks.data()) != kSuccess || count == 0)
    return lowest;
  clocks.resize(std::min(count, kMostClocks));
  return *std::min_element(clocks.begin(), clocks.end());
}

Result<DeviceLimits> Nvml::limits() const {
  char name[96] = {};
  unsigned highest = 0, cap = 0, least = 0, most = 0;
  ERGOMETER_TRY(check(call_.name(device_, name, sizeof name), "name"));
  ERGOMETER_TRY(check(call_.highest_clock(device_, kSmClock, &highest), "highest clock"));
  ERGOMETER_TRY(check(call_.default_cap(device_, &cap), "default power limit"));
  ERGOMETER_TRY(check(call_.cap_range(device_, &least, &most), "range of the power limit"));
  return DeviceLimits{
      name,         kMega * lowest_clock_mhz(), kMega * highest, kMilli * cap, kMilli * least,
      kMilli * most};
}

Result<std::string> Nvml::bus_id() const {
  PciInfo info{};
  ERGOMETER_TRY(check(call_.pci_info(device_, &info), "PCI address"));
  return std::string(info.id);
}

Result<void> Nvml::set_cap(double watts) const {
  unsigned milliwatts = 0;
  if (watts > 0)
    milliwatts = static_cast<unsigned>(std::lround(watts / kMilli));
  else
    ERGOMETER_TRY(check(call_.default_cap(device_, &milliwatts), "default power limit"));
  return check(call_.set_cap(device_, milliwatts), "set the power limit");
}

Result<void> Nvml::lock_clock(double hertz) const {
  const auto megahertz = static_cast<unsigned>(std::lround(hertz / kMega));
  return check(call_.lock_clocks(device_, megahertz, megahertz), "lock the clock");
}

Result<void> Nvml::unlock_clock() const {
  return check(call_.reset_clocks(device_), "unlock the clock");
}

double Nvml::field(unsigned id, double fallback) const {
  FieldValue value{};
  value.field = id;
  if (call_.field_values(device_, 1, &value) != kSuccess || value.status != kSuccess)
    return fallback;
  if (value.type == kDouble) return value.value.real;
  return value.type == kUnsignedInt ? value.value.whole : static_cast<double>(value.value.wide);
}

Result<DeviceSample> Nvml::read() const {
  unsigned power = 0, die = 0, clock = 0;
  unsigned long long reasons = 0;
  ERGOMETER_TRY(check(call_.power(device_, &power), "power"));
  ERGOMETER_TRY(check(call_.temperature(device_, kGpuTemperature, &die), "temperature"));
  ERGOMETER_TRY(check(call_.clock(device_, kSmClock, &clock), "clock"));
  ERGOMETER_TRY(check(call_.reasons(device_, &reasons), "clock event reasons"));
  DeviceSample seen;
  // Before the two fields, the one reading was the instant one.
  seen.instant_w = kMilli * field(kPowerInstant, power);
  seen.average_w = kMilli * field(kPowerAverage, power);
  seen.die_c = die;
  seen.memory_c = field(kMemoryTemperature, 0);
  seen.clock_hz = kMega * clock;
  seen.reasons = static_cast<uint32_t>(reasons);
  return seen;
}

}  // namespace ergometer::calibration
