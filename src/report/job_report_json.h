#pragma once

#include "analysis/job_report.h"
#include "base/json_writer.h"

namespace ergometer::report {

/// The members `clock_offsets`, `critical_path`, `parallelisms`, `process_groups`, `pipeline`,
/// `links` (of counters), `power_swings`, `step_energy`, `throttling` and `anomalies`; what is not
/// known is left out. docs/guide/read-a-trace.md describes them.
void write_job_report(base::JsonWriter& json, const analysis::JobReport& report);

}  // namespace ergometer::report
