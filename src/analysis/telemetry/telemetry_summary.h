#pragma once

#include "analysis/telemetry/telemetry.h"

namespace ergometer::analysis {

// What the reports of all devices say together; each fills its part of the report.

void summarize_power(TelemetryReport& report);
/// Nodes' power added up: peaks do not coincide, so at the times at which any node was read.
void summarize_cluster(const run::DeviceLog& log, TelemetryReport& report);
void summarize_heat(TelemetryReport& report);
void summarize_gauges(const run::DeviceLog& log, TelemetryReport& report);
/// A sentence on each kind of gap and reset, with the devices that have it.
void note_gaps(TelemetryReport& report);
/// Leaves out meters that measured no energy beside a GPU, with a note: nothing can be held to
/// them.
void leave_out_idle_meters(TelemetryReport& report);

}  // namespace ergometer::analysis
