#include "record/proc/proc_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "record/files/kept_file.h"

namespace ergometer::record {

std::optional<CpuTime> cpu_time(std::string_view stat) {
  if (!stat.starts_with("cpu ")) return std::nullopt;
  enum { kUser, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kSteal, kCount };
  std::array<uint64_t, kCount> ticks{};
  const char* at = stat.data() + 4;
  const char* const end = stat.data() + std::min(stat.size(), stat.find('\n'));
  for (uint64_t& value : ticks) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  CpuTime time;
  for (const uint64_t value : ticks) time.all += static_cast<double>(value);
  time.busy = time.all - static_cast<double>(ticks[kIdle]) - static_cast<double>(ticks[kIoWait]);
  return time;
}

std::optional<double> busy_percent(const CpuTime& before, const CpuTime& after) {
  const double all = after.all - before.all;
  if (all <= 0) return std::nullopt;
  // The kernel's idle time is allowed to step back a little.
  return std::clamp(100 * (after.busy - before.busy) / all, 0.0, 100.0);
}

std::optional<double> memory_used(std::string_view meminfo) {
  constexpr double kKi = 1024;
  const auto field = [&](std::string_view name) -> std::optional<double> {
    const size_t at = meminfo.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    return leading_number(meminfo.substr(at + name.size()));
  };
  const auto total = field("MemTotal:"), available = field("MemAvailable:");
  if (!total || !available || *available > *total) return std::nullopt;
  return (*total - *available) * kKi;
}

}  // namespace ergometer::record
