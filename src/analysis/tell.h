#pragma once

#include <vector>

#include "analysis/findings/job_report.h"
#include "analysis/findings/trace_summary.h"
#include "analysis/simulated_traces.h"
#include "analysis/telemetry/telemetry.h"

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

/// The same of a simulated Run. What its sampled ranks' kernels and sensors tell is what a profiler
/// and a monitor would have shown; findings are the Run's own (analysis/findings/run_findings.h),
/// so that a number that the summary tells is told once.
struct ToldOfRun {
  std::vector<run::RankTrace> traces;  ///< of the sampled ranks
  run::DeviceLog log;
  Told told;
};
ToldOfRun tell_simulated(const run::Run& run, const RankLayout& layout);

/// Of whole traces: between chosen steps the GPU would seem idle.
std::vector<RankEnergy> energy_of(const std::vector<run::RankTrace>& ranks,
                                  const run::DeviceLog& log);

}  // namespace ergometer::analysis
