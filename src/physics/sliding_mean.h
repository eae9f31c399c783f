#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "physics/facility.h"

namespace ergometer::physics {

/// A window of `window_s` that slides over power given as samples of `sample_s`, each the mean over
/// its time. What the window holds moves along straight lines that bend only where one of its ends
/// passes from a sample to the next, so that its extremes are among the windows that begin or end
/// with a sample; the other end cuts one. A window shorter than a sample is as long as one.
class SlidingWindow {
 public:
  SlidingWindow(double window_s, double sample_s);
  /// That a window touches which begins or ends with one of them.
  size_t samples() const { return samples_; }

  struct Means {
    double beginning_w = 0, ending_w = 0;  ///< begins with the first sample, ends with the last
  };
  /// Means over the two windows in `samples()` samples that follow each other; `watts_of(i)`: the
  /// i-th of them. Those of a constant are exactly itself.
  template <class Watts>
  Means means(const Watts& watts_of) const {
    const double first_w = watts_of(0);
    double beyond_w = 0, last_w = 0;  // beyond the first
    for (size_t i = 1; i < samples_; ++i) beyond_w += last_w = watts_of(i) - first_w;
    return {first_w + (beyond_w - cut_ * last_w) / length_, first_w + beyond_w / length_};
  }
  /// The same of many series side by side: `watts[i]` is the i-th sample of each.
  void means(std::span<const double* const> watts, std::span<double> beginning_w,
             std::span<double> ending_w) const;

 private:
  double length_;  ///< in samples
  size_t samples_;
  double cut_;  ///< of the sample at the other end: the share that is outside
};

/// Means over every window of `window_s` that begins or ends with a sample of the series; of one
/// that is shorter, the mean of all. `periodic`: the series repeats. It has at least one sample.
std::vector<double> sliding_means(const PowerSeries& series, double window_s, bool periodic);

}  // namespace ergometer::physics
