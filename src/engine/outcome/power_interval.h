#pragma once

#include "engine/power/activity.h"
#include "engine/power/fleet.h"
#include "run/run.h"

namespace ergometer::engine {

/// 90 % intervals around a prediction.
struct PowerIntervals {
  run::Interval mean, peak;                  ///< factors on the power of a GPU
  run::Interval cluster_mean, cluster_peak;  ///< factors on that of all nodes at their plugs
  run::Interval max_c;                       ///< K on top of the hottest die's temperature
};

/// How far a number may be off, relative, by how well it is known (one standard deviation).
double relative_deviation(base::Grade grade);

/// Draws every parameter of power, cooling and the node from a normal distribution around its
/// value, as wide as its grade says, one factor each on all work and on all that nodes draw beside
/// GPUs (`Uncertainty`), and the step's length as wide as its own interval; settles clocks and heat
/// for each of 64 draws, and takes the 5th and 95th percentile. Draws depend on the job's seed
/// alone. Differences between single GPUs are left out: `fleet` is of nominal silicon.
/// `reference_hz`: the clock at which the activity's length holds; `step_sigma`: deviation of the
/// step time's logarithm.
PowerIntervals power_intervals(const spec::Job& job, const Fleet& fleet,
                               const StepActivity& activity, double reference_hz,
                               double step_sigma);

}  // namespace ergometer::engine
