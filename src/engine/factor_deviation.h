#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// Fills what a recording of the job's cluster leaves open of this job's step time,
///   step_deviation^2 = sum over factors i, j of g_i g_j covariance_ij,   g = step_slopes;
/// nothing where the cluster was not recorded. It stands in the job because all that predicts it
/// asks.
Result<void> tell_deviation(spec::Job& job);

}  // namespace ergometer::engine
