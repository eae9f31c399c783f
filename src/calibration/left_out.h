#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/sample.h"
#include "engine/outcome/interval.h"

namespace ergometer::calibration {

/// A row predicted without its source, s.
struct LeftOutRow {
  double predicted_s = 0;
  double low_s = 0, high_s = 0;  ///< 90 % interval
};

/// The kinds of runs that the samples of other sources are; with an empty `source` of all.
std::vector<engine::Evidence> evidence_without(const std::vector<Sample>& samples,
                                               std::string_view source);

/// The rows of this source as the fit `x` without them predicts them, simulated with what
/// `without_source` puts in the place of numbers that were settled on them, and with intervals of
/// whoever has seen the other sources only. Of other rows nothing, nor of those that cannot be
/// priced.
std::vector<std::optional<LeftOutRow>> predict_without(const std::vector<Sample>& samples,
                                                       const ParameterList& list,
                                                       std::span<const double> x,
                                                       const std::string& source, size_t threads,
                                                       const Watcher& watcher);

}  // namespace ergometer::calibration
