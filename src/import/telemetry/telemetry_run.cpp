#include <map>

#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

/// Puts a reading into its place in a row. What has no place there is in the DeviceLog alone.
void put(run::Telemetry& row, run::Metric metric, double value) {
  using run::Metric;
  switch (metric) {
    case Metric::kPower:
      // Where only one reading is known it stands for both.
      if (row.power_w == 0) row.power_w = value;
      if (row.average_power_w == 0) row.average_power_w = value;
      break;
    case Metric::kInstantPower: row.power_w = value; break;
    case Metric::kAveragePower: row.average_power_w = value; break;
    case Metric::kGpuTemperature: row.gpu_c = value; break;
    case Metric::kMemoryTemperature: row.memory_c = value; break;
    case Metric::kSmClock: row.sm_clock_mhz = value; break;
    case Metric::kEventReasons: row.event_reasons = static_cast<int64_t>(value); break;
    default: break;
  }
}

}  // namespace

run::Run telemetry_run(const run::DeviceLog& log) {
  run::Run run;
  run.source = "imported";
  for (const run::Device& device : log.devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    std::map<int64_t, run::Telemetry> rows;
    for (const run::Series& series : device.series) {
      for (const run::Sample& sample : series.samples) {
        run::Telemetry& row = rows[sample.time_ns];
        row.time_ns = sample.time_ns;
        row.rank = device.rank;
        put(row, series.metric, sample.value);
      }
    }
    for (auto& [time, row] : rows) run.telemetry.push_back(row);
  }
  return run;
}

}  // namespace ergometer::importer
