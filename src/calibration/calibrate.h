#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/left_out.h"
#include "calibration/sample.h"
#include "validation/score.h"

namespace ergometer::calibration {

struct Options {
  size_t folds = 10;
  size_t threads = 1;
  int iterations = 8;             ///< linearisations at most
  bool leave_out_source = false;  ///< also refit without each source
};

/// What the fit says about one parameter of the list.
struct FittedValue {
  double x = 0;               ///< log(value / prior)
  double standard_error = 0;  ///< of x
  double determined = 1;      ///< standard error / sigma of the prior: 1 is "the data says nothing"
  int64_t rows = 0, groups = 0;  ///< whose step time it moves
  bool held = false;             ///< it moves fewer than two groups: it keeps its prior
  bool at_bound = false;         ///< the data would have it beyond its bounds
};

/// One row, predicted by the fit to all rows and by the fit to the other folds.
struct RowResult {
  size_t fold = 0;
  double fitted_s = 0, cross_validated_s = 0;
  std::optional<LeftOutRow> left_out;  ///< where asked for
};

/// Errors on one source with it in the fit and with it left out.
struct LeftOutSource {
  std::string source;
  validation::ErrorStatistics with, without;
};

struct Calibration {
  Samples samples;
  std::vector<FittedValue> values;  ///< one a parameter of the list
  std::vector<RowResult> rows;      ///< one a sample
  validation::ErrorStatistics prior, fitted, cross_validated;
  std::vector<LeftOutSource> left_out;
  validation::ErrorStatistics all_left_out;  ///< over all sources, each left out in turn
  int iterations = 0;
  bool converged = false;
};

/// Above this ratio of posterior to prior sigma the data does not determine a parameter.
inline constexpr double kUndetermined = 0.8;

/// Fits the list's parameters to the rows, then predicts every row by a fit that has not seen its
/// fold: the fit's own linear model without those rows gives the parameters, the simulation the
/// prediction. A source that is left out takes with it what was settled on its runs (`Settled`) and
/// what the intervals know of them. Deterministic, whatever the number of threads.
Result<Calibration> calibrate(const std::vector<validation::MeasuredRun>& runs,
                              const ParameterList& list, const Options& options,
                              const Watcher& watcher);

}  // namespace ergometer::calibration
