#pragma once

#include <vector>

#include "optimize/candidate.h"

namespace ergometer::optimize {

/// What a candidate gains over the unchanged job, percent of the objective; below 0: it loses.
struct Gain {
  double value_pct = 0;
  /// 90 % interval of what one more draw of silicon would show, the noise floor in it.
  double low_pct = 0, high_pct = 0;
  std::vector<double> by_seed_pct;
  /// Whether it exceeds its own uncertainty.
  bool certain() const { return low_pct > 0; }
};

/// From pairs of plays on the same silicon: mean d and standard deviation s of n differences,
///   d +- sqrt((t s)^2 (1 + 1 / n) + floor^2),
/// t Student's quantile for 90 %, n - 1 degrees of freedom: the interval of the next draw, not of
/// the mean.
Gain paired_gain(Objective objective, const std::vector<Outcome>& unchanged,
                 const std::vector<Outcome>& changed, double noise_floor_pct);

/// Where Student's distribution with `freedom` degrees of freedom reaches 95 %; within 1 % from 4
/// degrees on (Cornish and Fisher's expansion).
double student_95(double freedom);

}  // namespace ergometer::optimize
