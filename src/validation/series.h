#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validation/predict.h"

namespace ergometer::validation {

/// One layout of a job that was measured with several.
struct SeriesLayout {
  std::string words;         ///< "tp 8 pp 12 dp 4 mbs 4": what differs within the series
  std::vector<size_t> runs;  ///< its rows in the input; several where it was measured again
  double measured_s = 0;     ///< step time; of several rows the median, of even counts the upper
  double predicted_s = 0;
  bool fits = true;  ///< as predicted
  int64_t predicted_rank = 0;
};

/// Rows of one source, model, GPU, number of GPUs, global batch, sequence length, precision and
/// software that differ in their layout alone.
struct Series {
  std::string name;
  std::vector<SeriesLayout> layouts;  ///< by measured time
  size_t chosen = 0;    ///< predicted fastest of those predicted to fit; of equals the first row
  double loss_pct = 0;  ///< of choosing it: 100 (its measured time / the least - 1)
  double blind_loss_pct = 0;  ///< mean of that over all layouts: of choosing without a prediction
  /// Kendall's tau-b between measured and predicted times: 1 the same order, -1 the reverse, 0
  /// none.
  double order = 0;
};

struct SeriesReport {
  std::vector<Series> series;  ///< worst loss first, then in the input's order
  int64_t right = 0;           ///< with a loss of at most `kSeriesLossPct`
  double mean_loss_pct = 0, mean_blind_loss_pct = 0, mean_order = 0;
};
constexpr double kSeriesLossPct = 3;

/// Rows that have no step time or no prediction are in no series.
SeriesReport find_series(const std::vector<MeasuredRun>& runs,
                         const std::vector<Prediction>& predictions);

std::string series_text(const SeriesReport& report, const std::vector<MeasuredRun>& runs);
std::string series_json(const SeriesReport& report, const std::vector<MeasuredRun>& runs);

}  // namespace ergometer::validation
