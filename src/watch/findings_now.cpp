#include "watch/findings_now.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "base/collection.h"
#include "run/event_reasons.h"

namespace ergometer::watch {
namespace {

using run::DeviceKind;
using run::Metric;

constexpr double kSlowerClock = 0.95;  ///< of the median clock, as the rules for Prometheus have it
constexpr double kBusyPercent = 50;    ///< percent of time with a kernel on the GPU
constexpr double kNearLimitK = 3;      ///< degrees before a GPU slows itself down
constexpr std::array kErrorCounters = {Metric::kEccUncorrected, Metric::kXid, Metric::kNvlinkErrors,
                                       Metric::kNetErrors};

bool at_work(const DeviceNow& gpu) {
  return gpu.of(Metric::kSmClock) && gpu.of(Metric::kGpuUtilization).value_or(0) >= kBusyPercent;
}

bool is_bad_reason(std::string_view name) {
  return name.starts_with("hw_") || name == "sw_thermal_slowdown";
}

Concerned gpus_that(const JobNow& now, const std::function<bool(const DeviceNow&)>& holds) {
  Concerned found;
  for (const DeviceNow& device : now.devices)
    if (device.kind == DeviceKind::kGpu && holds(device)) found.add(device.label());
  return found;
}

void put(std::string kind, const char* grade, std::string text, Concerned found,
         std::vector<FindingNow>& into) {
  if (found.count == 0) return;
  into.push_back({std::move(kind), grade, std::move(text), std::move(found.where)});
}

void throttled(const JobNow& now, std::vector<FindingNow>& into) {
  for (const run::EventReasonName& reason : run::kEventReasons) {
    const bool bad = is_bad_reason(reason.name);
    if (!bad && reason.name != "sw_power_cap") continue;
    const Concerned found = gpus_that(now, [&](const DeviceNow& gpu) {
      return (static_cast<int64_t>(gpu.of(Metric::kEventReasons).value_or(0)) & reason.bit) != 0;
    });
    put(fmt::format("throttled.{}", reason.name), bad ? "bad" : "fair",
        fmt::format("{} held back by {}", found.counted("GPU is", "GPUs are"), reason.name), found,
        into);
  }
}

void near_limit(const JobNow& now, std::vector<FindingNow>& into) {
  const Concerned found = gpus_that(now, [](const DeviceNow& gpu) {
    return gpu.of(Metric::kTemperatureMargin).value_or(INFINITY) <= kNearLimitK;
  });
  put("near_limit", "fair",
      fmt::format("{} within {:.0f} K of slowing down for heat",
                  found.counted("GPU is", "GPUs are"), kNearLimitK),
      found, into);
}

/// Of the GPUs at work, by name: who is behind the median clock.
void slower(const JobNow& now, std::vector<FindingNow>& into) {
  std::map<std::string_view, std::vector<double>> clocks;
  for (const DeviceNow& device : now.devices)
    if (device.kind == DeviceKind::kGpu && at_work(device))
      clocks[device.name].push_back(*device.of(Metric::kSmClock));
  std::map<std::string_view, double> median;
  for (auto& [name, of_kind] : clocks) median[name] = base::upper_median(std::move(of_kind));
  const Concerned found = gpus_that(now, [&](const DeviceNow& gpu) {
    return at_work(gpu) && *gpu.of(Metric::kSmClock) < kSlowerClock * median[gpu.name];
  });
  put("slower", "bad",
      fmt::format("{} at work with a clock 5 % or more below the median of its kind",
                  found.counted("GPU is", "GPUs are")),
      found, into);
}

}  // namespace

std::string Concerned::counted(const char* one, const char* many) const {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// A counter that went back began anew. An XID is a number of a message, and smaller ones are no
/// better.
void FindingsNow::count_errors(const JobNow& now) {
  static_assert(kErrorCounters.size() == kCounters);
  for (const DeviceNow& device : now.devices) {
    Counted* counted = nullptr;
    for (size_t i = 0; i < kCounters; ++i) {
      const auto value = device.of(kErrorCounters[i]);
      if (!value) continue;
      if (counted == nullptr) counted = &counted_[device.label()];
      const double before = std::exchange(counted->values[i], *value);
      const bool is_xid = kErrorCounters[i] == Metric::kXid;
      const bool more = is_xid ? *value != before && *value != 0 : *value > before;
      if (!std::exchange(counted->known[i], true) || !more) continue;
      counted->failed = kErrorCounters[i];
      counted->failed_ns = now.time_ns;
    }
  }
}

std::vector<FindingNow> FindingsNow::errors(int64_t now_ns) const {
  Concerned found;
  for (const auto& [label, counted] : counted_)
    if (counted.failed_ns > 0 && now_ns - counted.failed_ns <= kShownNs)
      found.add(fmt::format("{} ({})", label, run::metric_info(counted.failed).name));
  std::vector<FindingNow> result;
  put("errors", "bad",
      fmt::format("{} errors in the last ten minutes",
                  found.counted("device counted", "devices counted")),
      found, result);
  return result;
}

std::vector<FindingNow> FindingsNow::look(const JobNow& now) {
  count_errors(now);
  std::vector<FindingNow> result = errors(now.time_ns);
  throttled(now, result);
  near_limit(now, result);
  slower(now, result);
  return result;
}

}  // namespace ergometer::watch
