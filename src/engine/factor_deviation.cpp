#include "engine/factor_deviation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/prepared.h"
#include "spec/cluster/cluster_factors.h"

namespace ergometer::engine {
namespace {

/// d ln(step time) / d ln(factor) of a job, one an entry of `names`
/// (spec/cluster/cluster_factors.h), by differences of 2 % with contention as it settled.
Result<std::vector<double>> step_slopes(const spec::Job& job,
                                        const std::vector<std::string>& names) {
  constexpr double kStep = 0.02;
  const Prepared prepared(job);
  std::vector<Stretch> settled;
  ERGOMETER_ASSIGN(const double step_s, prepared.step_time_s(job, settled));
  std::vector<double> slopes;
  for (const std::string& name : names) {
    const spec::ClusterFactor* factor = spec::find_cluster_factor(name);
    ERGOMETER_CHECK(factor != nullptr, "the reader knows the factors of a cluster");
    double& slope = slopes.emplace_back(0);
    if (!factor->moves_time) continue;
    spec::Job moved = job;
    // Down: shares of a peak may stand at 1.
    spec::scale(moved.cluster, *factor, std::exp(-kStep));
    ERGOMETER_ASSIGN(const double moved_s, prepared.step_time_s(moved, settled));
    slope = std::log(step_s / moved_s) / kStep;
  }
  return slopes;
}

}  // namespace

Result<void> tell_deviation(spec::Job& job) {
  if (!job.cluster.measured) return {};
  spec::ClusterEvidence& evidence = *job.cluster.measured;
  ERGOMETER_ASSIGN(const std::vector<double> slopes, step_slopes(job, evidence.factors));
  double variance = 0, largest = 0;
  evidence.mostly.clear();
  for (size_t i = 0; i < slopes.size(); ++i) {
    for (size_t j = 0; j <= i; ++j)
      variance += (i == j ? 1 : 2) * slopes[i] * slopes[j] * evidence.covariance[i][j];
    const double own = slopes[i] * slopes[i] * evidence.covariance[i][i];
    if (own <= largest) continue;
    largest = own;
    evidence.mostly = spec::find_cluster_factor(evidence.factors[i])->meaning;
  }
  // Rounded covariances may come to less than nothing.
  evidence.step_deviation = std::sqrt(std::max(0.0, variance));
  return {};
}

}  // namespace ergometer::engine
