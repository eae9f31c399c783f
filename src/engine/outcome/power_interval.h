#pragma once

#include <algorithm>

#include "engine/power/activity.h"
#include "engine/power/fleet.h"
#include "run/run.h"

namespace ergometer::engine {

/// What 64 draws gave: 5th percentile, median and 95th.
struct Percentiles {
  double low = 0, median = 0, high = 0;

  /// The 90 % interval around a prediction of the same quantity, as far from it as the ends are
  /// from the median: in proportion, or in K. Power that a limit holds back ends at the limit,
  /// which is nearer to the median than a factor knows: never below the draws' own end.
  run::Interval factors_on(double value) const {
    return {.low = value * (low / median), .high = value * (high / median)};
  }
  run::Interval power_around(double watts) const {
    const run::Interval in_proportion = factors_on(watts);
    return {.low = in_proportion.low, .high = std::max(in_proportion.high, high)};
  }
  run::Interval shifts_of(double value) const {
    return {.low = value + low - median, .high = value + high - median};
  }
};
struct PowerIntervals {
  Percentiles mean_w, peak_w;                  ///< of a GPU
  Percentiles cluster_mean_w, cluster_peak_w;  ///< of all nodes at their plugs
  Percentiles energy_j, gpu_energy_j;          ///< a step: of all nodes, of all GPUs
  Percentiles mean_c, max_c;                   ///< of the dies, of the hottest
  Percentiles clock_hz;                        ///< mean over GPUs and time
  Percentiles step;  ///< length of a step, over what it is where limits and room are nominal
};

/// GPUs at their work.
struct AtWork {
  const spec::Job& job;
  const Fleet& fleet;
  const StepActivity& activity;
};

/// Draws every parameter of power, cooling and the node from a normal distribution around its
/// value, as wide as its grade says (of boards that somebody measured, narrower), one factor each
/// on all work, on boards as wholes and on all that nodes draw beside GPUs (`Uncertainty`), and the
/// step's length by the part of its own interval that power follows; settles clocks and heat
/// for each of 64 draws, and takes the 5th and 95th percentile. Numbers that a recording of the
/// cluster told of (`Cluster::measured`) are drawn from its covariance instead, and all work by
/// `form`. Draws depend on the job's seed alone. Differences between single GPUs are left out: the
/// fleets are of nominal silicon. `nominal`: the job at nominal conditions, where prices hold
/// whatever it draws; null: it is. `reference_hz`: the clock at which the activity's length holds;
/// `step_sigma`: deviation of the step time's logarithm.
PowerIntervals power_intervals(const AtWork& work, const AtWork* nominal, double reference_hz,
                               double step_sigma);

/// Of the job's limits the one that holds the mean power of a GPU's board.
double cap_of(const Fleet& fleet, size_t gpu);

}  // namespace ergometer::engine
