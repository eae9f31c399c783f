#include <algorithm>

#include "physics/facility.h"

namespace ergometer::physics {

/// What the driver's power limit looks back over; assumed, as the governor's slow loop.
constexpr double kCapWindowS = 1;
/// An upward ramp is that of the mean over as long as a sensor averages over: kernels begin within
/// microseconds, which no ramp means.
constexpr double kRampS = 0.025;

void EarlierPower::cut(double ago_s, double dt_s, double watts) {
  const double samples = std::max(1.0, ago_s / dt_s), whole = std::floor(samples);
  ring_.assign(static_cast<size_t>(whole) + 1, watts);
  oldest_ = 0;
  of_oldest_ = samples - whole;
}

double EarlierPower::watts() const {
  const double next_w = ring_[(oldest_ + 1) % ring_.size()];
  return next_w + of_oldest_ * (ring_[oldest_] - next_w);
}

void EarlierPower::add(double watts) {
  ring_[oldest_] = watts;
  oldest_ = (oldest_ + 1) % ring_.size();
}

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

/// What the upward ramp leaves of `wanted_w`; counts what it lacks.
double Smoother::raised(double load_w, double wanted_w, double dt_s) {
  if (cut_s_ != dt_s) {
    earlier_.cut(kRampS, dt_s, begun_ ? last_w_ : wanted_w);
    unramped_earlier_.cut(kRampS, dt_s, begun_ ? unramped_w_ : wanted_w);
    cut_s_ = dt_s;
  }
  const double over_s = std::max(dt_s, kRampS);
  const double most_w = earlier_.watts() + smoothing_.up_w_per_s * over_s;
  const double unramped_w = lowered(wanted_w, unramped_w_, dt_s);
  const double watts = lowered(std::min(wanted_w, most_w), last_w_, dt_s);
  most_missing_w_ = std::max(most_missing_w_, load_w - watts);
  steepest_w_per_s_ =
      std::max(steepest_w_per_s_, (unramped_w - unramped_earlier_.watts()) / over_s);
  unramped_w_ = unramped_w;
  unramped_earlier_.add(unramped_w);
  earlier_.add(watts);
  return watts;
}

double Smoother::advance(double load_w, double dt_s) {
  const double wanted_w = std::max(load_w, floor_w(load_w, dt_s));
  if (!begun_) last_w_ = unramped_w_ = wanted_w;
  begun_ = true;
  last_w_ =
      smoothing_.up_w_per_s > 0 ? raised(load_w, wanted_w, dt_s) : lowered(wanted_w, last_w_, dt_s);
  over_w_ = std::max(0.0, over_w_ + (last_w_ - smoothing_.most_w) * dt_s / kCapWindowS);
  return last_w_;
}

}  // namespace ergometer::physics
