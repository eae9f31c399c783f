#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ergometer::physics {

/// Power of a whole cluster, equidistant samples: mean over each interval.
struct PowerSeries {
  double interval_s = 0;
  std::vector<double> watts;
};

/// Largest rise and fall of the mean power from one interval of `over_s` to the one that follows
/// it, in W/s, anywhere in the series (running means, not fixed bins).
struct Ramp {
  double over_s = 0, up_w_per_s = 0, down_w_per_s = 0;
};

/// One band of the spectrum: the root mean square of the power's swing at these frequencies.
struct Band {
  double low_hz = 0, high_hz = 0, rms_w = 0;
};

struct SeriesSummary {
  std::vector<Ramp> ramps;  ///< over 0.1, 1, 10, 60 s, those that the series can tell
  std::vector<Band> bands;  ///< octaves; their squares add up to the variance
  double dominant_hz = 0, dominant_rms_w = 0;  ///< the strongest line, 0: none
};

/// The least value that 95 in 100 samples do not exceed; there is at least one.
double percentile_95(std::vector<double> watts);

/// `periodic`: the series repeats (the steady state of a job), so that no window is needed.
SeriesSummary summarise(const PowerSeries& series, bool periodic);

/// Power smoothing as Blackwell's driver offers it: while active, the GPU burns what is missing to
/// a floor, and power moves no faster than the ramps; the floor is released after a hysteresis.
struct Smoothing {
  double floor_w = 0;
  /// 0: no limit. Up: of the mean over 25 ms, so that power is at most so much above what it was
  /// 25 ms ago, or in the sample before where samples are longer.
  double up_w_per_s = 0, down_w_per_s = 0;
  double hysteresis_s = 0;  ///< time below the floor before it is released
  /// No more is burnt than reaches this, what boards hold of the power cap, nor than leaves the
  /// mean at it where the load has bursts above it.
  double most_w = INFINITY;
};
/// What power was so long before the sample at hand, of samples of equal length.
class EarlierPower {
 public:
  /// Samples are `dt_s` long from here on, and `watts` were drawn before them. `ago_s`: at least
  /// one sample.
  void cut(double ago_s, double dt_s, double watts);
  /// The mean over as long as a sample, which may begin within one.
  double watts() const;
  void add(double watts);

 private:
  std::vector<double> ring_;  ///< the samples that are looked at and those since
  size_t oldest_ = 0;
  double of_oldest_ = 0;  ///< share of what is looked at that lies in the oldest sample
};

/// The state machine of one GPU: clamp(max(load, floor while it is held), ramps).
class Smoother {
 public:
  explicit Smoother(const Smoothing& smoothing) : smoothing_(smoothing) {}
  /// What is drawn over the next `dt_s` seconds when the work asks for `load_w`.
  double advance(double load_w, double dt_s);
  /// Of the samples so far, the most that the upward ramp kept from the load, and how quickly power
  /// rises where it does not hold it back; 0 without an upward ramp.
  double most_missing_w() const { return most_missing_w_; }
  double steepest_w_per_s() const { return steepest_w_per_s_; }
  /// From here on those are found anew.
  void count_anew() { most_missing_w_ = steepest_w_per_s_ = 0; }

 private:
  double floor_w(double load_w, double dt_s);
  double most_burnt_w() const { return std::max(0.0, smoothing_.most_w - over_w_); }
  double lowered(double watts, double last_w, double dt_s) const;
  double raised(double load_w, double wanted_w, double dt_s);

  Smoothing smoothing_;
  bool held_ = false, begun_ = false;
  double below_s_ = 0, last_w_ = 0;
  double over_w_ = 0;      ///< what bursts above the cap take from what may be burnt
  double unramped_w_ = 0;  ///< the last sample without the upward ramp
  /// What the upward ramp looks back at, and the same without it; kept where there is a ramp.
  EarlierPower earlier_, unramped_earlier_;
  double cut_s_ = 0;  ///< length of the samples in them
  double most_missing_w_ = 0, steepest_w_per_s_ = 0;
};

}  // namespace ergometer::physics
