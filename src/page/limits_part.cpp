#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "page/run_part.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

/// A number among the Run's assumptions, in a unit; 0: it is not there, or "not set".
double assumed(const run::Run& run, std::string_view group, std::string_view name,
               std::string_view unit) {
  for (const run::Assumption& a : run.assumptions)
    if (a.group == group && a.name == name) return base::parse_measure(a.value, unit).value_or(0);
  return 0;
}

/// The highest limit that any GPU of a recording said it had.
double recorded_cap_w(const run::DeviceLog& log) {
  double watts = 0;
  for (const run::Device& device : log.devices) {
    const run::Series* series =
        device.kind == run::DeviceKind::kGpu ? device.find(run::Metric::kPowerLimit) : nullptr;
    if (series == nullptr) continue;
    for (const run::Sample& sample : series->samples) watts = std::max(watts, sample.value);
  }
  return watts;
}

/// Whether telemetry shows power as it is, through no sensor.
bool exact(const run::Run& run) {
  return std::ranges::any_of(run.assumptions, [](const auto& a) {
    return a.group == "conditions" && a.name == "sensor" && a.value == "none";
  });
}

}  // namespace

void write_limits(JsonWriter& json, const RunView& view) {
  const run::Run& run = view.run();
  const double set_w = assumed(run, "conditions", "power_cap", "W");
  json.key("limits").begin_object(base::kOneLine);
  const auto known = [&](const char* name, double value) {
    if (value > 0) json.member(name, value);
  };
  known("power_cap_w", view.simulated ? set_w : recorded_cap_w(view.log));
  known("tdp_w", assumed(run, "gpu", "tdp", "W"));
  known("slowdown_c", assumed(run, "gpu", "temperature_slowdown", "C"));
  known("target_c", assumed(run, "gpu", "temperature_target", "C"));
  known("memory_c", assumed(run, "gpu", "temperature_memory", "C"));
  if (view.simulated && !exact(run))
    known("power_window_s", assumed(run, "gpu", "power.reading_instant", "s"));
  json.end_object();
}

}  // namespace ergometer::page
