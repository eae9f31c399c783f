#pragma once

#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// How long one of a phase takes and what all nodes then draw.
struct PhaseCost {
  double seconds = 0, cluster_w = 0;
};

/// A training run by phases. Of a given number of steps every evaluation is counted; in a given
/// length as much of the cycle of steps and evaluation passes as it has room for.
///   steps n: evaluations 1 + floor((n - from) / every) from step `from` on;
///   length L: R = L - pause - from t steps' time behind the first `from`,
///             evaluations (R + every t) / (every t + e), at most R / e, where each takes e.
/// `step`: one of training; `batch`: the evaluation of one global batch; `standing_w`: all nodes
/// while GPUs have nothing to do.
std::vector<run::RunPhase> run_phases(const spec::RunPhases& asked, const PhaseCost& step,
                                      const PhaseCost& batch, double standing_w);

/// The job whose step is the forward pass of one global batch in the layout of `job`.
spec::Job evaluation_of(const spec::Job& job);

/// What all nodes of the job draw at their plugs, and of it their GPUs.
struct StandingPower {
  double cluster_w = 0, gpus_w = 0;
  double mean_c = 0;  ///< of the dies
};
/// In a pause: contexts keep GPUs at their highest clock, no kernel is resident; as cool as that
/// leaves them.
Result<StandingPower> standing_power(const spec::Job& job);

}  // namespace ergometer::engine
