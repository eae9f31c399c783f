#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/arrivals.h"
#include "analysis/breakdown.h"
#include "analysis/collectives.h"
#include "analysis/graph_summary.h"
#include "analysis/idle.h"
#include "analysis/kernel_table.h"
#include "analysis/pipeline.h"
#include "analysis/steps.h"
#include "run/run.h"

namespace ergometer::analysis {

/// What a trace shows that costs time: a sentence each for what it is, what to try and what would
/// check it.
struct Finding {
  double cost_s = 0;    ///< of one rank's time, mean over ranks
  double fraction = 0;  ///< of the span, mean over ranks
  std::string name;     ///< "exposed_communication", "late_launch", "straggler", ...
  std::string what, try_next, check;
  std::string confidence;  ///< "measured", or what the number rests on
};

struct RankSummary {
  RankBreakdown breakdown;
  IdleCauses idle;
  StepTimes steps;
  std::string gpu;
  bool truncated = false;
};

/// All that is told of the traces of one job.
struct TraceSummary {
  std::vector<RankSummary> ranks;
  std::vector<KernelRow> kernels, classes;
  std::vector<CollectiveRow> collectives;
  ArrivalTable arrivals;
  /// A step and where it goes, mean over ranks, where every rank marks its steps. Of `breakdown_s`,
  /// compute holds copies that nothing hides, and optimizer is kernels known as such by name.
  std::optional<run::Performance> performance;
  std::optional<PipelineReport> pipeline;  ///< where ranks have tasks of a pipeline
  std::vector<GraphSummary> graphs;  ///< of files beside the traces; `summarize` leaves it empty
  std::vector<Finding> findings;     ///< the dearest first
};

/// A Run that holds these traces, with a row of `kernels` for every event.
run::Run make_run(std::vector<run::RankTrace> traces, std::vector<run::Dropped> dropped,
                  std::vector<run::WorkGraph> graphs = {});

TraceSummary summarize(const std::vector<run::RankTrace>& ranks);

/// Findings of a summary without them.
std::vector<Finding> find(const TraceSummary& summary);

}  // namespace ergometer::analysis
