#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "validation/rows/measured_run.h"
#include "validation/rows/run_job.h"

namespace ergometer::validation {

/// What a power was measured of: a whole node in front of or behind its supplies, or one GPU by its
/// own sensor.
enum class PowerScope { kNodeAc, kNodeDc, kGpu };
enum class PowerStatistic { kMean, kMax };

/// What a row measured while which job ran.
struct PowerJob {
  RunJob run;
  PowerScope scope = PowerScope::kNodeAc;
  PowerStatistic statistic = PowerStatistic::kMean;
  double watts = 0;
  double run_s = 0;  ///< how long the run was that a mean goes over, evaluation and pauses
                     ///< included; 0: not stated
  /// The mean is one over a whole run whose evaluations and pauses are known: phases are in the
  /// job's conditions, this is the pauses' relative deviation. 0: of training alone.
  double pause_deviation = 0;
  std::string from;  ///< id of the run whose row gave the layout
};

/// The training job of a row of `power_thermal.csv` (columns device, system, workload, config,
/// metric, value, unit, ...), for a mean or maximum of node power of an MLPerf run or of a GPU's
/// power in a language model's training. Layout and batch come from the run in `runs` (rows of
/// training_runs.csv) of the same round, benchmark, GPU and number of GPUs: the same system's
/// where there is one, else the first whose row states a layout. Without one, the largest smaller
/// run that does not accumulate gives the layout, and the batch grows with the replicas. Then
/// `make_job` fills blanks as it does for any run. The error says why a row is no such job, or
/// cannot be one.
Result<PowerJob> power_job(const MeasuredRun& row, std::span<const MeasuredRun> runs);

}  // namespace ergometer::validation
