#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ergometer::record::amd {

/// Times in which a GPU was held back, in ticks of the firmware that `ticks` counts: of all, of
/// those at the power limit, too hot, and with the slot's PROCHOT line up. 32 bits, and then anew.
struct Residency {
  uint32_t ticks = 0, power = 0, socket_heat = 0, regulator_heat = 0, memory_heat = 0, prochot = 0;
};

/// What the amdgpu driver's table `gpu_metrics` tells; what it does not know is left out.
struct GpuMetrics {
  int64_t boot_time_ns = 0;  ///< CLOCK_BOOTTIME, when the driver put it together
  std::optional<double> average_power_w, power_w, energy_j;
  std::optional<double> edge_c, hotspot_c, memory_c;
  std::optional<double> busy_percent, memory_busy_percent;
  std::optional<double> gfx_mhz, memory_mhz;  ///< of several dies' clocks the mean
  std::optional<double> pcie_replays, xgmi_read_bytes, xgmi_written_bytes;
  std::optional<uint64_t> throttle;  ///< bits of SMU_THROTTLER_*
  std::optional<Residency> residency;
};

/// The largest table known, v1.8.
inline constexpr size_t kMostGpuMetricsBytes = 4096;

/// Reads tables v1.1 to v1.8 (kgd_pp_interface.h of Linux 7.2). Nothing for other versions, APUs'
/// among them, and for tables that are shorter than they must be.
std::optional<GpuMetrics> parse_gpu_metrics(std::span<const unsigned char> table);

}  // namespace ergometer::record::amd
