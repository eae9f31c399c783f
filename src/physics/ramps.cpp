#include "physics/ramps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ergometer::physics {
namespace {

constexpr double kSpans[] = {0.1, 1, 10, 60};

/// Energy since the start of the series, of what is above its first value: the difference of two
/// neighbouring means needs no more, and sums stay small.
class EnergySince {
 public:
  EnergySince(const PowerSeries& series, bool periodic)
      : interval_s_(series.interval_s), periodic_(periodic), watts_(series.watts) {
    sums_.reserve(watts_.size() + 1);
    sums_.push_back(0);
    for (const double watts : watts_)
      sums_.push_back(sums_.back() + (watts - watts_.front()) * interval_s_);
  }
  /// `position`: in intervals, from 0 to the length, or any if the series repeats.
  double at(double position) const {
    const auto length = static_cast<double>(watts_.size());
    double turns = 0;
    if (periodic_) {
      turns = std::floor(position / length);
      position = std::clamp(position - turns * length, 0.0, length);
    }
    const size_t whole = std::min(static_cast<size_t>(position), watts_.size() - 1);
    const double part = position - static_cast<double>(whole);
    return turns * sums_.back() + sums_[whole] +
           part * (watts_[whole] - watts_.front()) * interval_s_;
  }

 private:
  double interval_s_;
  bool periodic_;
  const std::vector<double>& watts_;
  std::vector<double> sums_;
};

/// `span`: length of a mean, in intervals.
Ramp steepest(const EnergySince& energy, double intervals, double span, double over_s,
              bool periodic) {
  Ramp result{over_s, 0, 0};
  const auto consider = [&](double middle) {
    if (!periodic && (middle < span || middle > intervals - span)) return;
    const double before = energy.at(middle) - energy.at(middle - span);
    const double behind = energy.at(middle + span) - energy.at(middle);
    const double slope = (behind - before) / over_s / over_s;
    result.up_w_per_s = std::max(result.up_w_per_s, slope);
    result.down_w_per_s = std::max(result.down_w_per_s, -slope);
  };
  for (double border = 0; border <= intervals; ++border)
    for (const double middle : {border, border + span, border - span}) consider(middle);
  return result;
}

/// A span that is a whole number of intervals but for rounding is that number.
double in_intervals(double span_s, double interval_s) {
  const double span = span_s / interval_s, nearest = std::nearbyint(span);
  constexpr double kRounding = 1e-9;
  return std::abs(span - nearest) < kRounding * span ? nearest : span;
}

}  // namespace

std::vector<Ramp> ramps(const PowerSeries& series, bool periodic) {
  std::vector<Ramp> result;
  if (series.watts.empty() || !(series.interval_s > 0)) return result;
  const EnergySince energy(series, periodic);
  const auto intervals = static_cast<double>(series.watts.size());
  for (const double over_s : kSpans) {
    const double span = in_intervals(over_s, series.interval_s);
    if (span < 1 || (!periodic && 2 * span > intervals)) continue;
    result.push_back(steepest(energy, intervals, span, over_s, periodic));
  }
  return result;
}

}  // namespace ergometer::physics
