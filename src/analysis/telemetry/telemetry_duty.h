#pragma once

#include <span>
#include <vector>

#include "run/device_log.h"

namespace ergometer::analysis {

/// Energy from a sensor that looks at its power for a part of each period only (25 of 100 ms on
/// A100 and H100, arXiv 2312.02741).
///
/// A load that repeats about as fast as the sensor updates shows as a slow beat: readings wander
/// through the load's phases. Their sum is right only over whole beats. Where readings repeat so,
/// their mean is taken over whole beats, and stands for the whole stretch between quiet ones.
struct RepeatingStretch {
  int64_t from_ns = 0, to_ns = 0;
  double beat_s = 0;
  double mean_w = 0;        ///< over whole beats
  double correction_j = 0;  ///< what is to be added to the trapezoidal rule's energy
};
/// `points`: one for each update, `period_s` apart.
std::vector<RepeatingStretch> repeating_stretches(std::span<const run::Sample> points,
                                                  double period_s);
/// What of the corrections falls between two times.
double correction_j(std::span<const RepeatingStretch> stretches, int64_t from_ns, int64_t to_ns);

/// A stretch in which all points stay within 2.5 % of its mean for 1.5 s or more, as indices: first
/// and behind the last.
struct Quiet {
  size_t from = 0, to = 0;
};
std::vector<Quiet> quiet_stretches(std::span<const run::Sample> points, double period_s);

}  // namespace ergometer::analysis
