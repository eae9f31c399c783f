#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/device_log.h"

namespace ergometer::watch {

/// A device that tells nothing for so long while its node is heard, such as a GPU that fell off the
/// bus, has no readings: its last ones say nothing of the present. Assumed; the slowest sources are
/// read every few seconds, other tools' recordings that are played back once a minute.
inline constexpr int64_t kDeviceSilentNs = 90'000'000'000;

/// The latest readings of one device of a node that is heard. It points into who keeps them.
struct DeviceNow {
  run::DeviceKind kind = run::DeviceKind::kGpu;
  std::string_view node;
  std::string_view name;  ///< "NVIDIA H100 80GB HBM3"; may be empty
  std::string_view uuid;  ///< "GPU-5f0c11d2-..."; may be empty
  int64_t index = -1;
  std::span<const double> values;     ///< by metric
  std::span<const int64_t> times_ns;  ///< by metric; 0: never read

  std::optional<double> of(run::Metric metric) const {
    const auto at = static_cast<size_t>(metric);
    return times_ns[at] == 0 ? std::nullopt : std::optional(values[at]);
  }
  /// The first of the ways to tell it that the device has.
  std::optional<double> power_w() const {
    const auto metric = power_metric();
    return metric ? of(*metric) : std::nullopt;
  }
  /// "instant_power", "power", "average_power"; empty: none of them.
  std::string_view power_way() const {
    const auto metric = power_metric();
    return metric ? run::metric_info(*metric).name : "";
  }
  std::optional<run::Metric> power_metric() const {
    for (const auto metric :
         {run::Metric::kInstantPower, run::Metric::kPower, run::Metric::kAveragePower})
      if (of(metric)) return metric;
    return std::nullopt;
  }
  /// Of what has no sensor at its edge (MI300X) its hottest place.
  std::optional<double> temperature_c() const {
    const auto edge = of(run::Metric::kGpuTemperature);
    return edge ? edge : of(run::Metric::kHotspotTemperature);
  }
  /// "node7 gpu 3", "node7 port mlx5_0/1"; of the node itself "node7".
  std::string label() const {
    if (kind == run::DeviceKind::kNode) return std::string(node);
    std::string which = index < 0 ? std::string() : fmt::format(" {}", index);
    if (run::told_by_name(kind) && !name.empty()) which = fmt::format(" {}", name);
    return fmt::format("{} {}{}", node, run::kind_name(kind), which);
  }
};

/// Something that an operator should look at.
struct FindingNow {
  std::string kind;   ///< "throttled.hw_slowdown", "silent", "outside.step_time_s", ...
  std::string grade;  ///< "bad" or "fair"
  std::string text;   ///< "8 GPUs are held back by hw_thermal_slowdown"
  std::vector<std::string> where;  ///< the first few: "node7 gpu 3"
  int64_t since_ns = 0;            ///< by who looks
};

/// A job at one time; looked at about once a second.
struct JobNow {
  int64_t time_ns = 0;
  std::vector<DeviceNow> devices;
  std::vector<run::TrainingStep> steps;  ///< that ended since the last look
  std::vector<FindingNow> findings;
};

}  // namespace ergometer::watch
