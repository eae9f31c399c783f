#pragma once

#include <cstdint>

#include "analysis/findings/job_report.h"
#include "base/json_writer.h"

namespace ergometer::report {

/// Whether the critical path's segments are written, or only how many there are.
enum class PathSegments : uint8_t { kWrite, kLeaveOut };

/// The members `clock_offsets`, `critical_path`, `parallelisms`, `process_groups`, `pipeline`,
/// `links` (of counters), `power_swings`, `step_energy`, `throttling` and `anomalies`; what is not
/// known is left out. docs/guide/read-a-trace.md describes them.
void write_job_report(base::JsonWriter& json, const analysis::JobReport& report,
                      PathSegments segments = PathSegments::kWrite);

}  // namespace ergometer::report
