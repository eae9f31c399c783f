#pragma once

#include <vector>

#include "analysis/job_report.h"
#include "analysis/telemetry.h"
#include "analysis/trace_summary.h"

namespace ergometer::analysis {

/// All that is told of traces and telemetry of one job.
struct Told {
  TelemetryReport power;
  JobReport job;
  TraceSummary summary;  ///< with the findings of all three
};

/// Also sets the traces' pipeline tasks, where they do not have them.
Told tell(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log, Beside beside = {},
          size_t threads = 1);

/// Of whole traces: between chosen steps the GPU would seem idle.
std::vector<RankEnergy> energy_of(const std::vector<run::RankTrace>& ranks,
                                  const run::DeviceLog& log);

}  // namespace ergometer::analysis
