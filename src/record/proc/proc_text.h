#pragma once

#include <optional>
#include <string_view>

namespace ergometer::record {

/// Time that all processors together spent since boot, in the kernel's ticks.
struct CpuTime {
  double busy = 0, all = 0;
};

/// The first line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal guest ...".
/// A processor that waits for a disk idles; guests' time is in `user` already.
std::optional<CpuTime> cpu_time(std::string_view stat);

/// Percent of the time between two looks; nothing when none passed.
std::optional<double> busy_percent(const CpuTime& before, const CpuTime& after);

/// Bytes that programs hold, by the head of /proc/meminfo: MemTotal - MemAvailable.
std::optional<double> memory_used(std::string_view meminfo);

}  // namespace ergometer::record
