#pragma once

#include <vector>

#include "base/widths.h"
#include "engine/power/activity.h"
#include "engine/power/boards.h"

namespace ergometer::engine {

/// The power governor looks at the mean over this long. Assumed: drivers do not say; 10 to 100 ms
/// is what frequency changes were seen to take (arXiv 2502.20075).
inline constexpr double kGovernorWindowS = 0.1;
/// A rise of power is noticed after this long, as long as a sensor averages over: H100 under its
/// cap shows no 0.2 s in a hundred more than 0.3 % above the cap (arXiv 2604.07345), so that
/// whatever goes beyond it is short.
inline constexpr double kGovernorAlarmS = 0.025;

/// Joules and seconds that a rank of a role did in a stretch; over its length they are rates.
struct RoleWork {
  double core_j = 0, memory_j = 0, link_j = 0, clocked_s = 0;
  ERGOMETER_INLINE RoleWork& operator+=(const RoleWork& other) {
    core_j += other.core_j;
    memory_j += other.memory_j;
    link_j += other.link_j;
    clocked_s += other.clocked_s;
    return *this;
  }
  ERGOMETER_INLINE friend RoleWork operator*(double factor, const RoleWork& work) {
    return {factor * work.core_j, factor * work.memory_j, factor * work.link_j,
            factor * work.clocked_s};
  }
};

/// Plays a job's steps, one after the other, in ticks of the power governor: each GPU's governor
/// sees the power of its last window and the temperatures of the moment and sets a clock; the
/// slowest clock at work sets the pace; the work done in the tick, at those clocks and
/// temperatures, is its power; power heats, and fans follow.
class PowerPlay {
 public:
  /// All are kept by reference; `heat` moves on. `reference_hz`: the first kind's clock at which
  /// the work lasts what its prices say; 0: it lasts that long at any clock. `trim_w`: as `Boards`
  /// has it.
  PowerPlay(const Fleet& fleet, const StepActivity& work, const spec::Conditions& conditions,
            FleetHeat& heat, double reference_hz, std::span<const double> trim_w);

  /// `length_factor`: what a step lasts, over what its slices add up to at the clocks they are
  /// played at.
  void set_pace(double reference_hz, double length_factor) {
    reference_hz_ = reference_hz;
    length_factor_ = length_factor;
  }

  /// Plays on for `dt_s` seconds.
  const Tick& advance(double dt_s);
  double now_s() const { return now_s_; }
  /// Steps played, with the part of the one begun.
  double steps() const { return steps_; }
  /// From here on time and steps are counted from 0 again, and a step begins, so that ticks of a
  /// step lie in it alike whatever was before; a mark as well.
  void restart();
  /// From here on clocks and steps are averaged anew.
  void mark();
  double marked_steps() const { return steps_ - marked_steps_; }
  /// Mean length of the steps since the mark.
  double marked_step_s() const { return (now_s_ - marked_s_) / marked_steps(); }
  /// Since the mark, one a GPU: the clock at which its compute takes as long as at the clocks it
  /// had. One that computed nothing has the mean.
  std::vector<double> effective_hz() const {
    return boards_.effective_hz(base_hz(), work_s_, now_s_ - marked_s_);
  }
  /// Whether a thermal governor holds a GPU back now.
  bool held_by_heat() const { return boards_.held_by_heat(); }
  bool smooths() const { return boards_.smooths(); }
  /// `Boards` has them, since the start or the last `restart`.
  double most_missing_w() const { return boards_.most_missing_w(); }
  double steepest_w_per_s() const { return boards_.steepest_w_per_s(); }
  /// Those of some GPUs that reached the temperature at which hardware turns them off, of the job.
  double shut_down(GpuRange gpus) const { return boards_.shut_down(gpus); }

 private:
  void see();
  void work_on();
  void tell_work();
  void play_part(size_t part);
  void remember();
  void take_slices();
  void cut_windows(double dt_s);
  double pace(size_t slice) const;
  double base_hz() const;

  const Fleet& fleet_;
  const StepActivity& work_;
  FleetHeat& heat_;
  double reference_hz_, length_factor_ = 1;
  double now_s_ = 0, steps_ = 0;
  size_t slice_ = 0;       ///< of the step, in which the next tick begins
  double into_slice_ = 0;  ///< share of it that is done
  double marked_s_ = 0, marked_steps_ = 0;
  Boards boards_;
  Seen seen_;                       ///< in this tick
  std::vector<RoleWork> worked_;    ///< by role, in this tick
  double worked_s_ = 0;             ///< what that work lasts at the reference clock
  Done done_;                       ///< the same, as boards see it
  std::vector<double> work_s_;      ///< clocked work since the mark, by `Fleet::row_of`
  std::vector<double> slowest_hz_;  ///< by role
  /// All roles of a slice lie beside each other, for every tick looks at all of them: what they do
  /// in it, and how much of it follows the clock.
  std::vector<RoleWork> slices_;
  std::vector<double> clocked_shares_;
  /// What governors see, all roles of a tick beside each other: the work of the window's ticks, and
  /// by role a second's worth of the whole window and of its last ticks.
  std::vector<RoleWork> window_, whole_, recent_;
  std::vector<RoleWork> whole_sum_, recent_sum_;  ///< of its ticks
  double window_tick_s_ = 0;                      ///< length of the ticks in it
  physics::GovernorPeriods thermal_time_;
  Tick tick_;
};

}  // namespace ergometer::engine
