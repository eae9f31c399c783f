#include <algorithm>

#include "physics/facility.h"

namespace ergometer::physics {

/// What the driver's power limit looks back over; assumed, as the governor's slow loop.
constexpr double kCapWindowS = 1;
/// An upward ramp is that of power over as long as a sensor averages over, or over a sample where
/// that is longer: kernels begin within microseconds, which no ramp means.
constexpr double kRampS = 0.025;

/// The least power of a sample with this load: the floor is held from the first sample that reaches
/// it until the load has been below it for the hysteresis.
double Smoother::floor_w(double load_w, double dt_s) {
  constexpr double kRounding = 1e-9;
  if (smoothing_.floor_w <= 0) return 0;
  if (load_w >= smoothing_.floor_w) {
    held_ = true;
    below_s_ = 0;
    return 0;
  }
  if (!held_) return 0;
  // Released for whole samples only: one that begins within the hysteresis is held.
  if (below_s_ >= smoothing_.hysteresis_s * (1 - kRounding)) {
    held_ = false;
    return 0;
  }
  below_s_ += dt_s;
  return std::min(smoothing_.floor_w, most_burnt_w());
}

/// `watts`, or what the downward ramp leaves of the sample before.
double Smoother::lowered(double watts, double last_w, double dt_s) const {
  if (smoothing_.down_w_per_s <= 0) return watts;
  return std::max(watts, std::min(last_w, most_burnt_w()) - smoothing_.down_w_per_s * dt_s);
}

double Smoother::advance(double load_w, double dt_s) {
  const double wanted_w = std::max(load_w, floor_w(load_w, dt_s));
  double watts = wanted_w, unramped_w = wanted_w;
  if (begun_) {
    const double rise_s = std::max(dt_s, kRampS);
    if (smoothing_.up_w_per_s > 0)
      watts = std::min(watts, last_w_ + smoothing_.up_w_per_s * rise_s);
    watts = lowered(watts, last_w_, dt_s);
    unramped_w = lowered(wanted_w, unramped_w_, dt_s);
    most_missing_w_ = std::max(most_missing_w_, load_w - watts);
    steepest_w_per_s_ = std::max(steepest_w_per_s_, (unramped_w - unramped_w_) / rise_s);
  }
  begun_ = true;
  over_w_ = std::max(0.0, over_w_ + (watts - smoothing_.most_w) * dt_s / kCapWindowS);
  unramped_w_ = unramped_w;
  return last_w_ = watts;
}

}  // namespace ergometer::physics
