#include "calibration/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/device_record.h"
#include "calibration/device_work.h"

namespace ergometer::calibration {
namespace {

namespace nvml = record::nvml;

constexpr double kMilli = 1e-3;

}  // namespace

Result<Nvml> Nvml::open(const std::vector<std::string>& names, unsigned index) {
  ERGOMETER_ASSIGN(nvml::Library library, nvml::Library::open(names, kWithoutDriver));
  nvml::Handle device = nullptr;
  ERGOMETER_TRY(
      library.check(library.call().handle_by_index(index, &device), fmt::format("GPU {}", index)));
  return Nvml(std::move(library), device);
}

/// The lowest clock at the memory clock in force; that clock itself where the list is not given.
double Nvml::lowest_clock_mhz() const {
  unsigned memory = 0, lowest = 0;
  call().clock(device_, nvml::kSmClockType, &lowest);
  if (call().clock(device_, nvml::kMemoryClockType, &memory) != nvml::kSuccess) return lowest;
  constexpr unsigned kMostClocks = 1024;
  std::vector<unsigned> clocks(kMostClocks);
  unsigned count = kMostClocks;
  if (call().graphics_clocks(device_, memory, &count, clocks.data()) != nvml::kSuccess ||
      count == 0)
    return lowest;
  clocks.resize(std::min(count, kMostClocks));
  return *std::min_element(clocks.begin(), clocks.end());
}

Result<DeviceLimits> Nvml::limits() const {
  char name[96] = {};
  unsigned highest = 0, cap = 0, least = 0, most = 0;
  ERGOMETER_TRY(check(call().name(device_, name, sizeof name), "name"));
  ERGOMETER_TRY(
      check(call().highest_clock(device_, nvml::kSmClockType, &highest), "highest clock"));
  ERGOMETER_TRY(check(call().default_cap(device_, &cap), "default power limit"));
  ERGOMETER_TRY(check(call().cap_range(device_, &least, &most), "range of the power limit"));
  return DeviceLimits{
      name,         kMega * lowest_clock_mhz(), kMega * highest, kMilli * cap, kMilli * least,
      kMilli * most};
}

Result<std::string> Nvml::bus_id() const {
  nvml::PciInfo info{};
  ERGOMETER_TRY(check(call().pci_info(device_, &info), "PCI address"));
  return std::string(info.id);
}

Result<void> Nvml::set_cap(double watts) const {
  unsigned milliwatts = 0;
  if (watts > 0)
    milliwatts = static_cast<unsigned>(std::lround(watts / kMilli));
  else
    ERGOMETER_TRY(check(call().default_cap(device_, &milliwatts), "default power limit"));
  return check(call().set_cap(device_, milliwatts), "set the power limit");
}

Result<void> Nvml::lock_clock(double hertz) const {
  const auto megahertz = static_cast<unsigned>(std::lround(hertz / kMega));
  return check(call().lock_clocks(device_, megahertz, megahertz), "lock the clock");
}

Result<void> Nvml::unlock_clock() const {
  return check(call().reset_clocks(device_), "unlock the clock");
}

double Nvml::field(unsigned id, double fallback) const {
  nvml::FieldValue value{};
  value.field = id;
  if (call().field_values(device_, 1, &value) != nvml::kSuccess || value.status != nvml::kSuccess)
    return fallback;
  const double number = nvml::number(value.value, value.type);
  return std::isnan(number) ? fallback : number;
}

Result<DeviceSample> Nvml::read() const {
  unsigned power = 0, die = 0, clock = 0;
  unsigned long long reasons = 0;
  ERGOMETER_TRY(check(call().power(device_, &power), "power"));
  ERGOMETER_TRY(check(call().temperature(device_, nvml::kGpuSensor, &die), "temperature"));
  ERGOMETER_TRY(check(call().clock(device_, nvml::kSmClockType, &clock), "clock"));
  ERGOMETER_TRY(check(call().reasons(device_, &reasons), "clock event reasons"));
  DeviceSample seen;
  // Before the two fields, the one reading was the instant one.
  seen.instant_w = kMilli * field(nvml::field::kPowerInstant, power);
  seen.average_w = kMilli * field(nvml::field::kPowerAverage, power);
  seen.die_c = die;
  seen.memory_c = field(nvml::field::kMemoryTemp, 0);
  seen.clock_hz = kMega * clock;
  seen.reasons = static_cast<uint32_t>(reasons);
  return seen;
}

}  // namespace ergometer::calibration
