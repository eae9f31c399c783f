#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calibration/twin/boards.h"
#include "calibration/twin/fan_curve.h"
#include "calibration/twin/recording.h"
#include "spec/cluster/cluster_factors.h"
#include "spec/job/job.h"

namespace ergometer::calibration::twin {

/// One quantity of the recording beside its prediction, in `Quantity::unit`.
struct Row {
  Quantity quantity;
  double recorded = 0, before = 0, after = 0;
  double noise = 0;  ///< as `Quantity::noise`
};

/// One factor of the cluster, as the recording tells it.
struct FactorValue {
  const spec::ClusterFactor* factor = nullptr;
  double factor_of = 1;       ///< times the catalog's
  double standard_error = 0;  ///< of its logarithm; `factor->sigma` where nothing tells it
  std::string not_told;       ///< why the recording does not tell it; empty: it does
  bool at_bound = false;
};

struct Twin {
  spec::Cluster cluster;  ///< with the factors in place, and `measured` filled
  std::vector<FactorValue> factors;
  std::vector<Row> rows;
  /// Of a step's logarithm, beside the factors: what the model's form leaves on other jobs.
  double form = 0;
  FanReadings fans;              ///< in `cluster` where there is a curve
  std::optional<Boards> boards;  ///< their spreads are in `cluster` where they are told
  std::string no_boards;         ///< why there are none
  std::vector<std::string> notes;
};

/// Fits the factors of the job's cluster to a recording of the job: robust least squares over their
/// logarithms (calibration/least_squares.h), each with the catalog's value as prior, so that what
/// nothing tells stays. Residuals are (ln) predicted - recorded in units of the quantity's noise,
/// predictions are `compare::measure`'s of the job. The covariance is the inverse of the cost's
/// curvature where the fit ends. `form` is `form_deviation` times `measured_cluster` of
/// catalog/tables/uncertainty.csv; without a trace it is not known better than the catalog's
/// `base`. What the fit leaves of the recorded step, ln(after / recorded), adds to it, as squares.
/// `log`: readings by GPU and of fans. The fans' curve is in place before factors are fitted, what
/// boards differ by (`fit_boards`) is told of the fitted cluster.
/// Input errors: nodes of several kinds; a job that cannot be simulated.
Result<Twin> fit_twin(const Recording& recording, const spec::Job& job, size_t threads,
                      const run::DeviceLog& log = {});

}  // namespace ergometer::calibration::twin
