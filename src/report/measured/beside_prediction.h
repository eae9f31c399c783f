#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "compare/measured.h"
#include "report/summary/summary_text.h"
#include "run/file/prediction.h"

namespace ergometer::report {

/// What was predicted of a job before it ran, and what its recording measured.
struct BesidePrediction {
  run::Prediction prediction;
  std::optional<compare::Measured> measured;  ///< none: neither steps nor readings tell anything
};
/// Of a recorded Run's fact `prediction`; none where it keeps none. `name`: of the Run, for errors.
std::optional<BesidePrediction> beside_prediction(std::string_view fact,
                                                  const std::vector<run::RankTrace>& ranks,
                                                  const run::DeviceLog& log,
                                                  const std::string& name);

/// A line a quantity, for people.
std::string beside_prediction_text(const BesidePrediction& beside, const TextStyle& style);
/// The member `prediction`; null where nothing was measured.
void write_beside_prediction(base::JsonWriter& json, const BesidePrediction& beside);

}  // namespace ergometer::report
