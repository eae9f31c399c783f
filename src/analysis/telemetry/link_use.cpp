#include "analysis/telemetry/link_use.h"

#include <algorithm>
#include <array>

#include "analysis/telemetry/time_gaps.h"

namespace ergometer::analysis {
namespace {

using run::Metric;

struct Counted {
  Metric metric;
  const char *kind, *direction;
  bool rate = false;  ///< B/s instead of a counter of bytes
};
constexpr std::array kCounted = std::to_array<Counted>({
    {Metric::kNvlinkSent, "nvlink", "sent"},
    {Metric::kNvlinkReceived, "nvlink", "received"},
    {Metric::kPcieSent, "pcie", "sent"},
    {Metric::kPcieReceived, "pcie", "received"},
    {Metric::kPcieSentRate, "pcie", "sent", true},
    {Metric::kPcieReceivedRate, "pcie", "received", true},
    {Metric::kNetSent, "nic", "sent"},
    {Metric::kNetReceived, "nic", "received"},
});

/// Traffic of one device between its readings.
struct Traffic {
  double bytes = 0, seconds = 0, peak = 0, saturated_s = 0;  ///< peak in B/s
};

Traffic traffic_of(const run::Series& series, bool rate, double line_rate) {
  constexpr double kSaturated = 0.9;
  // A counter counts on while nobody reads it; what a rate was then nobody knows.
  const int64_t longest_ns = rate ? longest_distance_ns(series.samples) : INT64_MAX;
  Traffic traffic;
  for (size_t i = 0; i + 1 < series.samples.size(); ++i) {
    const run::Sample &a = series.samples[i], &b = series.samples[i + 1];
    const double dt = static_cast<double>(b.time_ns - a.time_ns) * 1e-9;
    if (!(dt > 0) || b.time_ns - a.time_ns > longest_ns) continue;
    // A counter that steps down began anew.
    const double bytes = rate ? a.value * dt : std::max(0.0, b.value - a.value);
    traffic.bytes += bytes;
    traffic.seconds += dt;
    traffic.peak = std::max(traffic.peak, bytes / dt);
    if (line_rate > 0 && bytes / dt > kSaturated * line_rate) traffic.saturated_s += dt;
  }
  return traffic;
}

double line_rate_of(const run::Device& device) {
  const run::Series* rate = device.find(Metric::kLineRate);
  return rate == nullptr || rate->samples.empty() ? 0 : rate->samples.back().value;
}

void add(const run::Device& device, const run::Series& series, bool rate, double& seconds,
         LinkUse& use) {
  constexpr double kGiga = 1e9;
  const double line = line_rate_of(device);
  const Traffic traffic = traffic_of(series, rate, line);
  if (!(traffic.seconds > 0)) return;
  ++use.devices;
  use.bytes += traffic.bytes;
  use.partial = use.partial || series.partial;
  seconds += traffic.seconds;
  if (traffic.peak / kGiga > use.peak_gb_per_s || use.busiest < 0) {
    use.peak_gb_per_s = traffic.peak / kGiga;
    use.busiest = device.rank >= 0 ? device.rank : device.index;
    use.busiest_host = device.host;
  }
  if (!(line > 0)) return;
  const double mean = traffic.bytes / traffic.seconds / line;
  const double saturated = traffic.saturated_s / traffic.seconds;
  use.utilization = std::max(use.utilization.value_or(0), mean);
  use.saturated_fraction = std::max(use.saturated_fraction.value_or(0), saturated);
}

}  // namespace

std::vector<LinkUse> link_use(const run::DeviceLog& log) {
  std::vector<LinkUse> all;
  for (const Counted& counted : kCounted) {
    LinkUse use;
    use.kind = counted.kind;
    use.direction = counted.direction;
    double seconds = 0;
    for (const run::Device& device : log.devices) {
      const run::Series* series = device.find(counted.metric);
      if (series != nullptr) add(device, *series, counted.rate, seconds, use);
    }
    // A rate is asked only where there is no counter: it is the mean of a short window.
    const bool known = std::ranges::any_of(all, [&](const LinkUse& other) {
      return other.kind == use.kind && other.direction == use.direction;
    });
    if (use.devices == 0 || known) continue;
    use.mean_gb_per_s = use.bytes / seconds * 1e-9;
    all.push_back(std::move(use));
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace ergometer::analysis
