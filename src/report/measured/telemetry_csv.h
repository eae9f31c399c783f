#pragma once

#include <string>

#include "base/result.h"
#include "run/run.h"

namespace ergometer::report {

/// Writes the Run's telemetry as CSV, a line for each reading of each sampled rank, rank by rank in
/// order of time. The columns are those of the table `telemetry` in docs/run-file.md: time_ns,
/// rank, power_w, average_power_w, gpu_c, memory_c, sm_clock_mhz, event_reasons (NVML's bits).
Result<void> write_telemetry(const run::Run& run, const std::string& path);

}  // namespace ergometer::report
