#pragma once

#include <optional>

#include "spec/job/job.h"
#include "validation/predict.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// Whether a row measured power while some job ran, in the columns of `power_thermal.csv`, and not
/// a job's step.
bool is_power_row(const MeasuredRun& row);

/// Makes the row's job, with the layouts of catalog/tables/mlperf_layouts.csv where the row has
/// none, and predicts the power it measured.
Prediction predict_power(const MeasuredRun& row);

/// The power that a run's row gives per GPU ("power_w_per_gpu"; "power_scope": of the GPU itself,
/// or its share of the node's), beside its prediction; none when the row gives none.
Result<std::optional<PowerQuantity>> power_of_run(const MeasuredRun& row, const spec::Job& job);

}  // namespace ergometer::validation
