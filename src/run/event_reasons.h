#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ergometer::run {

/// NVML's clock event reasons (nvmlClocksEventReasons), bits of `Telemetry::event_reasons`, under
/// the names of `nvidia-smi --query-gpu=clocks_event_reasons.*`.
struct EventReasonName {
  int64_t bit;
  std::string_view name;
};
inline constexpr std::array kEventReasons = std::to_array<EventReasonName>({
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks_setting"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
});

}  // namespace ergometer::run
