#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/power/fleet_heat.h"
#include "engine/power/governed_step.h"
#include "engine/power/power_play.h"
#include "engine/time/compile.h"
#include "engine/time/timeline.h"

namespace ergometer::engine {

/// GPUs at their work. All are kept by reference; `heat` moves on.
struct Played {
  const spec::Conditions& conditions;  ///< for how power is smoothed
  const StepActivities& work;
  Fleet& fleet;
  FleetHeat& heat;
};

/// The loop between time, power and heat: steps are played in ticks (engine/power/power_play.h);
/// what clocks that gives is played by the engine, whose step is how long the next one takes.
///
/// Prices hold for the clocks that measured runs had, at the vendor's default limits in an ordinary
/// room: so at nominal conditions a job takes the time that its prices say, at whatever clock the
/// governor then decides. That clock is the job's reference clock, and conditions change the time
/// by how they move the clocks away from it.
class PowerLoop {
 public:
  using Watch = std::function<void(const Tick&)>;

  /// Brings the job to rest at nominal conditions: a step takes what its prices say, and the
  /// reference clock is the one at which the engine says so too. `input`: clocks and sampled ranks
  /// are ignored. `nominal`: the job without what the user changed; its kinds get their paces. Both
  /// are kept by reference.
  PowerLoop(const EngineInput& input, const Played& nominal);
  /// Brings it to rest at other conditions.
  void settle(const Played& played);
  /// Whether it came to rest; else clocks and temperatures still drifted when all rounds were
  /// played.
  bool rests() const { return rests_; }
  /// Whether every step that the engine played told the whole one (`Timeline::steady`).
  bool steady() const { return steady_; }
  /// Shows `watch` whole steps of what was settled last, `lead_in` what GPUs drew before time 0, as
  /// far as sensors look back and that was played. One step, more where a step is shorter than a
  /// sensor's window or where heat holds clocks back, which takes its own time.
  void show(const Watch& lead_in, const Watch& watch);
  /// Finds how long slices are in the first step of a run, which no step before it tells. It is
  /// played a few times, each from `start`, which sets `heat`; where heat is then is no start.
  void rehearse_first_step(const Played& played, const std::function<void()>& start);
  /// Shows `watch` steps from the state of `heat` on, for `duration_s` seconds.
  void run(const Played& played, double duration_s, const Watch& watch);
  /// Plays from the state of `heat` on and shows `watch` one step, the `step`-th, counted from 1;
  /// `lead_in` those before time 0, as far as sensors look back. Steps further back are played in
  /// coarse ticks: only what heat makes of their mean power is left of them. After as many as fill
  /// twenty minutes the job is at rest, and no more are played.
  void run_to_step(const Played& played, int64_t step, const Watch& lead_in, const Watch& watch);

  /// The clock that nominal conditions settle at, of the ranks that set the pace; as the first
  /// kind's.
  double reference_hz() const { return reference_hz_; }
  /// How many steps were shown, with the part of the last one.
  double shown_steps() const { return shown_steps_; }
  /// The play that was shown.
  const PowerPlay& play() const { return *play_; }
  /// A step at the clocks found, the last ones; the same by the reference engine, with the input's
  /// spans.
  const Timeline& timeline() const { return timeline_; }
  Timeline play_events() const;
  /// How long a step is with other clocks, one a rank, as the first kind's; nothing if a folded
  /// plan cannot tell.
  std::optional<double> step_s_at(std::span<const double> clocks_hz) const;
  /// What that step is played at.
  const cost::CostTable& costs() const { return costs_; }
  const std::vector<double>& clocks_hz() const { return clocks_hz_; }

 private:
  struct Means;
  /// Of ticks: the search for rest takes most of its rounds in coarse ones.
  enum class Grain { kCoarse, kFine };
  void begin(const Played& played, std::span<const double> trim_w);
  std::vector<double> settle_slices(const Played& played) const;
  void play_until(double steps, double step_s, double dt_s, const Watch& watch);
  void follow(bool last);
  std::span<const Grain> grains() const;
  bool rest(const Played& played, Grain grain, const std::function<double()>& lacking);
  void settle_nominal(const Played& nominal, Grain grain);
  void keep(const Tick& tick);
  void find_paces(Fleet& fleet) const;
  void take_clocks();
  void find_reference();
  double missing_of_replay();
  double tick_s(double step_s, Grain grain = Grain::kFine) const;
  double shortest_tick_s(double run_s) const;
  void play_step();
  EngineInput at_clocks() const;

  const EngineInput& input_;
  double priced_s_;                         ///< a step at the reference clock
  cost::CostTable costs_;                   ///< the input's, at the reference clock found
  double reference_hz_ = 0, s_per_hz_ = 0;  ///< how much longer a higher one makes the step
  const Fleet* fleet_ = nullptr;            ///< played last
  FleetHeat* heat_ = nullptr;               ///< its
  std::unique_ptr<PowerPlay> play_;
  double length_factor_ = 1;  ///< of the play
  double length_fall_ = 1;    ///< of what it lacks, by what is added to the factor
  /// By tick, what each GPU drew at the end of the search for rest, as far as sensors look back.
  std::deque<std::vector<double>> last_w_;
  FleetHeat::Moment at_end_;  ///< of a step, in its last round: rest is a mean
  bool hunting_ = false;      ///< governors found no step that repeats itself
  bool rests_ = false, steady_ = true;
  double shown_steps_ = 0;
  /// Of the last step that the engine played, one a rank; as the first kind's (`FleetKind::pace`).
  std::vector<double> clocks_hz_;
  std::vector<double> followed_hz_;  ///< the play's clocks then, one a GPU
  int replays_left_ = 0;             ///< of a run, until a step is as long as the engine says
  CompiledRoles compiled_;           ///< the input's plan
  Timeline timeline_;
};

}  // namespace ergometer::engine
