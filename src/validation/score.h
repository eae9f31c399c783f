#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validation/predict.h"

namespace ergometer::validation {

inline constexpr double kPercent = 100;

/// One measured quantity of one row beside its prediction; or a row that has none, and why.
struct ScoredRow {
  std::string id, group;
  std::string quantity;  ///< "step_time_s" | "memory_bytes" | "power_w_per_gpu" |
                         ///< "node_power_w" | "fits"
  std::optional<double> measured, predicted;  ///< in the quantity's unit; of "fits" 1 or 0, and
                                              ///< its probability
  double low = 0, high = 0;                   ///< 90 % interval of the prediction
  std::optional<double> error_pct;            ///< 100 (predicted / measured - 1)
  std::string skipped_reason;
  size_t run = 0;  ///< its row in the input
};

/// Errors over some rows of one quantity. By row every row weighs the same; by group every group
/// does, and its rows share its weight: a large sweep counts as much as a single run.
struct ErrorStatistics {
  int64_t rows = 0, groups = 0;
  int64_t skipped = 0;          ///< rows without a prediction; in no number below
  double mean_pct = 0;          ///< mean absolute percentage error
  double median_pct = 0;        ///< of even counts the mean of the middle two
  double group_mean_pct = 0;    ///< mean over groups of the group's mean
  double group_median_pct = 0;  ///< median over rows, weighted
  double bias_pct = 0;          ///< mean signed error; positive: predicted too slow, too much
  double group_bias_pct = 0;
  double within_15_fraction = 0;  ///< of rows
  double inside_interval_fraction = 0;
};

/// The rows of one value of a dimension, one line of a table.
struct ScoreLine {
  std::string value;
  ErrorStatistics errors;
};
struct ScoreTable {
  std::string dimension;
  std::string quantity;
  std::vector<ScoreLine> lines;  ///< most groups first, then by name
};

struct Score {
  std::vector<ScoredRow> rows;      ///< in the file's order
  int64_t total = 0, accepted = 0;  ///< rows; those that were predicted and have a measurement
  ErrorStatistics step_time, memory, power;
  /// Whether a job fits in memory, called right: every row with a measurement ran, so it fits.
  int64_t fits_known = 0, fits_right = 0;
  OutcomeScore outcomes;  ///< of these and of the rows that say whether they ran
  std::vector<ScoreTable> tables;
  std::vector<ScoreLine> groups;  ///< of step time, worst first
};

/// The row's id; one without is called by its line, "line 12".
std::string id_of(const MeasuredRun& run);
/// The rows of one series; a row that names none is one of its own.
std::string group_of(const MeasuredRun& run);

/// Statistics over `rows` of one quantity; a row without a group is a group of its own.
ErrorStatistics error_statistics(const std::vector<const ScoredRow*>& rows);

/// `predictions` are of `runs`, in order; a table for each dimension of `by` (names of
/// `trait_names`).
Score score(const std::vector<MeasuredRun>& runs, const std::vector<Prediction>& predictions,
            const std::vector<std::string>& by);

/// The rows with the largest errors of step time, worst first.
std::vector<const ScoredRow*> worst_rows(const Score& score, size_t count);

}  // namespace ergometer::validation
