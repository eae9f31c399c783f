#pragma once

#include <optional>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "analysis/ranks/critical_path.h"
#include "analysis/ranks/exchange_loads.h"
#include "analysis/ranks/group_table.h"
#include "analysis/ranks/pipeline.h"
#include "analysis/ranks/replayed_taxes.h"
#include "analysis/ranks/slow_ranks.h"
#include "analysis/ranks/stragglers.h"
#include "analysis/telemetry/anomalies.h"
#include "analysis/telemetry/heat_cost.h"
#include "analysis/telemetry/link_use.h"
#include "analysis/telemetry/power_swings.h"
#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What is told of a job's ranks together, of its GPUs beside each other and of both over time.
/// Whatever is not recorded is empty.
struct JobReport {
  ClockTable clocks;
  CriticalPath path;
  ReplayedTaxes taxes;
  GroupTables groups;
  ExchangeLoads exchanges;
  std::vector<GroupSkew> skews;
  SlowRanks slow;
  std::optional<PipelineReport> pipeline;
  std::vector<LinkUse> links;
  Anomalies anomalies;
  std::vector<PowerSwings> swings;
  std::vector<StepEnergy> step_energies;
  std::vector<HeatCost> heat;
  double recorded_s = 0;  ///< of the longest series of clocks, without its gaps
};

/// Also sets the traces' pipeline tasks, where they do not have them
/// (analysis/ranks/pipeline_tasks.h).
JobReport report_job(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log);

}  // namespace ergometer::analysis
