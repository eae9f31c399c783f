#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "physics/energy.h"

namespace ergometer::engine {

/// Joules and seconds that a role does in some time.
struct SliceWork {
  physics::Energy energy;
  double clocked_s = 0;  ///< compute whose speed follows the clock, at the reference clock
  SliceWork& operator+=(const SliceWork& other) {
    energy += other.energy;
    clocked_s += other.clocked_s;
    return *this;
  }
  friend SliceWork operator*(double factor, const SliceWork& work) {
    return {factor * work.energy, factor * work.clocked_s};
  }
};

/// The work of one period of a step, which repeats itself every so many seconds: what a stretch of
/// time gets of many of them, without going through their instructions again.
class PeriodWork {
 public:
  /// Work that lasts from `begin_s` to `end_s` in the first period, evenly.
  void add(double begin_s, double end_s, const SliceWork& work);
  /// All is added.
  void close();
  /// What of the periods `first` .. `last` lies between two times. Period 0 is where it was added,
  /// each other one `period_s` > 0 behind the one before.
  SliceWork between(double from_s, double to_s, int64_t first, int64_t last, double period_s) const;

 private:
  /// Where an instruction begins or ends; once closed, what is done until then, and how fast it
  /// goes on.
  struct Corner {
    SliceWork done, per_s;
    int running = 0;
  };
  SliceWork until(double time_s) const;
  size_t stretch_of(double time_s) const;

  std::vector<Corner> corners_;
  std::vector<double> at_s_;  ///< of every corner: once closed, in order
  /// Between the first corner and the last lie as many stretches of equal length as there are
  /// corners: for each, how many corners lie before it. A search looks through one stretch only.
  std::vector<size_t> before_;
  double stretches_per_s_ = 0;
};

}  // namespace ergometer::engine
