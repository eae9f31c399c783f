#include <algorithm>

#include "physics/facility.h"

namespace ergometer::physics {
namespace {

/// Whether the floor is held: from the first sample that reaches it until the load has been below
/// it for the hysteresis.
class Floor {
 public:
  explicit Floor(const Smoothing& smoothing) : smoothing_(smoothing) {}
  /// The least power of a sample of `dt_s` with this load.
  double advance(double load_w, double dt_s) {
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
    return smoothing_.floor_w;
  }

 private:
  static constexpr double kRounding = 1e-9;
  const Smoothing& smoothing_;
  bool held_ = false;
  double below_s_ = 0;
};

}  // namespace

// The state machine of NVIDIA's power smoothing: clamp(max(load, floor while it is held), ramps).
Smoothed smooth(const PowerSeries& load, const Smoothing& smoothing) {
  Smoothed result;
  result.series.interval_s = load.interval_s;
  result.series.watts.reserve(load.watts.size());
  Floor floor(smoothing);
  const double dt_s = load.interval_s;
  for (const double asked : load.watts) {
    double watts = std::max(asked, floor.advance(asked, dt_s));
    if (!result.series.watts.empty()) {
      const double last = result.series.watts.back();
      if (smoothing.up_w_per_s > 0) watts = std::min(watts, last + smoothing.up_w_per_s * dt_s);
      if (smoothing.down_w_per_s > 0) watts = std::max(watts, last - smoothing.down_w_per_s * dt_s);
    }
    result.series.watts.push_back(watts);
    result.burnt_j += std::max(watts - asked, 0.0) * dt_s;
    result.missing_j += std::max(asked - watts, 0.0) * dt_s;
  }
  return result;
}

}  // namespace ergometer::physics
