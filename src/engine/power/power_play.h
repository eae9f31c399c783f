#pragma once

#include <cstdint>
#include <vector>

#include "engine/power/activity.h"
#include "engine/power/fleet.h"
#include "engine/power/fleet_heat.h"
#include "physics/facility.h"

namespace ergometer::engine {

/// The power governor looks at the mean over this long. Assumed: drivers do not say; 10 to 100 ms
/// is what frequency changes were seen to take (arXiv 2502.20075).
inline constexpr double kGovernorWindowS = 0.1;
/// A rise of power is noticed after this long, as long as a sensor averages over: H100 under its
/// cap shows no 0.2 s in a hundred more than 0.3 % above the cap (arXiv 2604.07345), so that
/// whatever goes beyond it is short.
inline constexpr double kGovernorAlarmS = 0.025;
/// Every GPU of a fleet through one tick: means over it, but for temperatures and event reasons,
/// which are those at its end. One number a GPU.
struct Tick {
  double start_s = 0, length_s = 0;
  std::vector<double> watts;           ///< what smoothing burns included
  std::vector<double> core_w;          ///< of it, work on the core's rail
  std::vector<double> active_w;        ///< of it, the clock tree
  std::vector<double> burnt_w;         ///< of it, what smoothing burns
  std::vector<double> memory_w;        ///< of it, what the HBM turns into heat
  std::vector<double> links_w, hbm_w;  ///< of it, work of links and HBM
  std::vector<double> clock_hz;
  std::vector<uint32_t> reasons;  ///< physics::EventReason
  double cluster_w = 0;           ///< every node at its plug
  double end_s() const { return start_s + length_s; }
};

/// Plays a job's steps, one after the other, in ticks of the power governor: each GPU's governor
/// sees the power of its last window and the temperatures of the moment and sets a clock; the
/// slowest clock at work sets the pace; the work done in the tick, at those clocks and
/// temperatures, is its power; power heats, and fans follow.
class PowerPlay {
 public:
  /// All are kept by reference; `heat` moves on. `reference_hz`: the clock at which the work lasts
  /// what its prices say; 0: it lasts that long at any clock.
  PowerPlay(const Fleet& fleet, const StepActivity& work, const spec::Conditions& conditions,
            FleetHeat& heat, double reference_hz);

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
  /// From here on time and steps are counted from 0 again; a mark as well.
  void restart();
  /// From here on clocks and steps are averaged anew.
  void mark();
  double marked_steps() const { return steps_ - marked_steps_; }
  /// Mean length of the steps since the mark.
  double marked_step_s() const { return (now_s_ - marked_s_) / marked_steps(); }
  /// Since the mark, one a GPU: the clock at which its compute takes as long as at the clocks it
  /// had. One that computed nothing has the mean.
  std::vector<double> effective_hz() const;
  /// Whether a thermal governor holds a GPU back now.
  bool held_by_heat() const;
  /// GPUs of the job that reached the temperature at which hardware turns them off.
  double shut_down() const;

 private:
  /// Joules and seconds that a rank of a role did in a stretch; over its length they are rates.
  struct Work {
    double core_j = 0, memory_j = 0, link_j = 0, clocked_s = 0;
    Work& operator+=(const Work& other);
    friend Work operator*(double factor, const Work& work) {
      return {factor * work.core_j, factor * work.memory_j, factor * work.link_j,
              factor * work.clocked_s};
    }
  };
  /// What a governor sees of a role: the work of the last ticks, a ring.
  struct Window {
    std::vector<Work> ticks;
    Work whole, recent;  ///< a second's worth, by the whole window and by its last ticks
  };
  /// One number a GPU.
  struct Boards {
    std::vector<double> clock_hz;
    std::vector<double> leakage_w;            ///< at relative voltage 1 and the tick's temperature
    std::vector<double> whole_hz, recent_hz;  ///< means
    std::vector<double>
        trim_w;  ///< the cap is held this much lower, for what went beyond it before
    std::vector<physics::ThermalGovernor> thermal;
    std::vector<double> work_s, slowed_s, clock_s;
    // What does not change.
    std::vector<double> leakage_t0_w, voltage, cap_w;
    std::vector<bool> told;  ///< a lock or a brake: more than a cap
  };
  /// What the governors of a role's GPUs see: watts at relative voltage 1, the share of time that
  /// is clocked work at the reference clock, and whether the last ticks ask for more than the
  /// window, whose clocks then count.
  struct Seen {
    physics::Load load;
    double clocked_s = 0;
    bool rises = false;
  };
  Seen seen_of(const Window& window) const;
  double seen_at_hz(const Seen& seen, size_t gpu) const {
    return seen.rises ? boards_.recent_hz[gpu] : boards_.whole_hz[gpu];
  }
  physics::Response response(const Seen& seen, double at_hz) const;

  void decide();
  void decide(size_t first, size_t count);
  physics::ClockDecision decide_alone(size_t gpu) const;
  void work_on(double dt_s);
  void draw(double dt_s);
  physics::Load load_of(size_t gpu, double dt_s) const;
  void draw_alone(size_t gpu, double dt_s);
  void smooth(size_t gpu, double dt_s);
  void limit_heat(double dt_s);
  void remember(double dt_s);
  void count_clocks(double dt_s);
  void cut_windows(double dt_s);
  double pace(size_t slice) const;

  const Fleet& fleet_;
  const StepActivity& work_;
  FleetHeat& heat_;
  double reference_hz_, length_factor_ = 1;
  double now_s_ = 0, steps_ = 0;
  size_t slice_ = 0;       ///< of the step, in which the next tick begins
  double into_slice_ = 0;  ///< share of it that is done
  double marked_s_ = 0, marked_steps_ = 0;
  Boards boards_;
  std::vector<Seen> seen_;  ///< by role, in this tick
  /// By GPU, in this tick: what its role does.
  std::vector<double> load_core_w_, clocked_s_, rest_s_;
  std::vector<double> window_hz_;  ///< clocks by tick of the governor's window, then by GPU
  std::vector<physics::Smoother> smoothers_;  ///< one a GPU; none without smoothing
  std::vector<Work> done_;                    ///< by role, in this tick
  double done_s_ = 0;                         ///< what that work lasts at the reference clock
  std::vector<double> slowest_hz_;            ///< by role
  std::vector<Window> windows_;               ///< by role
  double window_tick_s_ = 0;                  ///< length of the ticks in them
  size_t window_ticks_ = 0, recent_ticks_ = 0, window_at_ = 0;  ///< the oldest tick
  Tick tick_;
};

}  // namespace ergometer::engine
