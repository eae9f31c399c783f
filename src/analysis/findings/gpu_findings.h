#pragma once

#include <vector>

#include "analysis/findings/job_report.h"
#include "analysis/findings/trace_summary.h"
#include "analysis/telemetry/collective_timings.h"

namespace ergometer::analysis {

/// What holds GPUs' clocks, a finding a reason, and which GPUs differ from their peers or move away
/// from them, a finding a GPU; of many GPUs one for all, by host.
void add_gpu_findings(const JobReport& report, std::vector<Finding>& findings);

/// Ranks that come last, by NCCL's own timings of every rank.
void add_late_ranks(const CollectiveTimings& timings, std::vector<Finding>& findings);

}  // namespace ergometer::analysis
