#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/power/fleet.h"
#include "engine/power/fleet_heat.h"
#include "physics/facility.h"

namespace ergometer::engine {

/// Every GPU of a fleet through one tick: means over it, but for temperatures and event reasons,
/// which are those at its end. One number a GPU.
struct Tick {
  double start_s = 0, length_s = 0;
  /// What a role's GPUs do, power at relative voltage 1, by `Fleet::row_of`.
  std::vector<physics::Load> loads;
  std::vector<double> watts;    ///< what smoothing burns included
  std::vector<double> burnt_w;  ///< of it, what smoothing burns
  std::vector<double> voltage;  ///< relative
  std::vector<double> clock_hz;
  std::vector<uint32_t> reasons;  ///< physics::EventReason
  double cluster_w = 0;           ///< every node at its plug
  double end_s() const { return start_s + length_s; }
};

/// What governors see of their roles, by `Fleet::row_of`.
struct Seen {
  std::vector<double> core_w, steady_w;  ///< at relative voltage 1; steady: memory and links
  std::vector<double> clocked_s;  ///< share of time that is clocked work at the reference clock
  std::vector<double> rises;      ///< not 0: the last ticks ask for more than the window, and count
};

/// The ticks that a governor's window has, a ring.
struct Window {
  size_t ticks = 1, recent = 1;  ///< all of them, and the last ones
  size_t now = 0;                ///< where the tick at hand stands; before it, the oldest
  /// Where the tick stands that is so many back; `ticks`: the oldest.
  size_t back(size_t by) const { return now >= by ? now - by : now + ticks - by; }
};

/// What was done in a tick, and what of time passed with it.
struct Done {
  /// Seconds at the reference clock, by `Fleet::row_of`: what follows the clock, and the rest.
  std::vector<double> clocked_s, rest_s;
  double base_hz = 0;  ///< the first kind's clock at which work lasts as long as that says
  double length_s = 0;
  Window window;
  double thermal_periods = 0;  ///< of thermal governors, that ended
};

/// The boards of a fleet's GPUs, tick by tick: what their governors decide by, what they draw, what
/// they remember of it. A board knows nothing of the others, so that they are gone through in
/// pieces that the first-level cache holds.
class Boards {
 public:
  /// `start_hz`: the first kind's clock. `trim_w`: where governors begin, one a GPU; none: rested,
  /// with all that they let through in bursts.
  Boards(const Fleet& fleet, const spec::Conditions& conditions, const Surroundings& surroundings,
         double start_hz, std::span<const double> trim_w);
  /// The tick's numbers, one a GPU.
  void size(Tick& tick) const;

  /// The clocks of a tick, and the slowest of each role.
  void decide(const Seen& seen, double reference_hz, std::span<const double> die_c, Tick& tick,
              std::vector<double>& slowest_hz);
  /// The power of the tick's loads, at its clocks, of some GPUs.
  void draw(GpuRange gpus, Tick& tick);
  /// Windows of so many ticks from here on, which keep their means.
  void cut_windows(size_t ticks);
  /// What comes of the tick, of some GPUs, once they have its heat.
  void finish(GpuRange gpus, const FleetHeat& heat, const Done& done, Tick& tick);

  /// From here on clocks are averaged anew.
  void mark();
  /// Since the mark, one a GPU: the clock at which its compute takes as long as at the clocks it
  /// had, as long as `work_s` says by `Fleet::row_of`. One that computed nothing has the mean over
  /// `marked_s` seconds.
  std::vector<double> effective_hz(double base_hz, std::span<const double> work_s,
                                   double marked_s) const;
  bool held_by_heat() const;
  /// Whether power is smoothed.
  bool smooths() const { return !smoothers_.empty(); }
  /// Since `count_smoothing_anew`, of any GPU with an upward ramp of smoothing: the most that the
  /// ramp kept from the work's power, and how quickly that rises where the ramp does not hold it.
  double most_missing_w() const;
  double steepest_w_per_s() const;
  void count_smoothing_anew();
  double shut_down(GpuRange gpus) const;

 private:
  void find_at_work();
  physics::ClockDecision decide_alone(size_t gpu, const Seen& seen, double reference_hz) const;
  void decide_piece(GpuRange gpus, const Seen& seen, double reference_hz, Tick& tick);
  void decide_others(GpuRange gpus, const double* decided_hz, const Seen& seen, double reference_hz,
                     Tick& tick);
  void draw_alone(size_t gpu, Tick& tick);
  void smooth(GpuRange gpus, Tick& tick);
  void limit(GpuRange gpus, const FleetHeat& heat, const Done& done, Tick& tick);
  void limit_heat(size_t gpu, const FleetHeat& heat, double periods, Tick& tick);
  void remember(GpuRange gpus, const Done& done, const Tick& tick);

  const Fleet& fleet_;
  std::vector<physics::QuietBelow> quiet_;  ///< by kind
  std::vector<GpuRange> at_work_;           ///< GPUs of one role that follow one another
  // One number a GPU.
  std::vector<double> clock_hz_;              ///< decided last
  std::vector<double> leakage_w_;             ///< at relative voltage 1 and the tick's temperature
  std::vector<double> whole_hz_, recent_hz_;  ///< means over the window and its last ticks
  /// The cap is held so much lower, for what went beyond it before; below 0 where what was left of
  /// it allows a burst.
  std::vector<double> trim_w_;
  std::vector<double> slowed_s_, clock_s_;  ///< since the mark
  std::vector<physics::ThermalGovernor> thermal_;
  std::vector<physics::Smoother> smoothers_;                         ///< or none
  std::vector<uint8_t> special_;                                     ///< of board_loops::Special
  std::vector<double> leakage_t0_w_, voltage_, cap_w_, ceiling_hz_;  // these do not change
  std::vector<double> window_hz_;  ///< clocks by tick of the window, then GPU
};

}  // namespace ergometer::engine
