#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// d ln(step time) / d ln(factor) of a job, one an entry of `names`
/// (spec/cluster/cluster_factors.h), by differences of 2 % with contention as it settled.
Result<std::vector<double>> step_slopes(const spec::Job& job,
                                        const std::vector<std::string>& names);

/// Fills what a recording of the job's cluster leaves open of this job's step time,
///   step_deviation^2 = sum over factors i, j of g_i g_j covariance_ij,   g = step_slopes;
/// nothing where the cluster was not recorded. It stands in the job because all that predicts it
/// asks.
Result<void> tell_deviation(spec::Job& job);

}  // namespace ergometer::engine
