#pragma once

#include <vector>

#include "engine/outcome/interval.h"
#include "validation/predict.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// The measured step times by kind of run, in the order of the kinds: what catalog/tables/
/// evidence.csv holds. Rows without a prediction or a step time are no evidence. A group whose rows
/// are of two kinds counts in both.
std::vector<engine::Evidence> evidence(const std::vector<MeasuredRun>& runs,
                                       const std::vector<Prediction>& predictions);

}  // namespace ergometer::validation
