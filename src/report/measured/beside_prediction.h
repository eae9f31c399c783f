#pragma once

#include <string>

#include "base/json_writer.h"
#include "compare/measured.h"
#include "report/summary/summary_text.h"
#include "run/file/prediction.h"

namespace ergometer::report {

/// What a recording measured of each quantity that was predicted before it, for people; null where
/// nothing was measured.
std::string beside_prediction_text(const run::Prediction& prediction,
                                   const compare::Measured* measured, const TextStyle& style);
/// The member `prediction`.
void write_beside_prediction(base::JsonWriter& json, const run::Prediction& prediction,
                             const compare::Measured* measured);

}  // namespace ergometer::report
