#pragma once

#include <string>

#include "base/result.h"
#include "cli/console/command.h"
#include "run/file/prediction.h"
#include "watch/against_prediction.h"

namespace ergometer::cli {

/// What is predicted of the job that a file describes: a job file or anything else `simulate` reads
/// by content, or a simulated Run, whose summary it is.
Result<run::Prediction> predict_job(const std::string& path, const Console& console);

/// A line a quantity: predicted, its interval and measured, for a terminal; the heading names the
/// job.
std::string beside_prediction_text(const watch::AgainstPrediction& of);

}  // namespace ergometer::cli
