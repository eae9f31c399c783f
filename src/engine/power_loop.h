#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/fleet_heat.h"
#include "engine/governed_step.h"
#include "engine/power_play.h"
#include "engine/timeline.h"

namespace ergometer::engine {

/// The loop between time, power and heat: steps are played in ticks (engine/power_play.h); what
/// clocks that gives is played by the engine, whose step is how long the next one takes.
///
/// Prices hold for the clocks that measured runs had, at the vendor's default limits in an ordinary
/// room: so at nominal conditions a job takes the time that its prices say, at whatever clock the
/// governor then decides. That clock is the job's reference clock, and conditions change the time
/// by how they move the clocks away from it.
class PowerLoop {
 public:
  using Watch = std::function<void(const Tick&)>;

  /// `input`: clocks and sampled ranks are ignored. `nominal`: the fleet without what the user
  /// changed. All are kept by reference.
  PowerLoop(const EngineInput& input, const StepActivities& activity, const Fleet& nominal);

  /// The clock that nominal conditions settle at, of the ranks that set the pace.
  double reference_hz() const { return reference_hz_; }

  /// Brings this fleet to where it repeats itself, then shows `watch` whole steps: `lead_in` those
  /// before time 0, as far as sensors look back. One step, more where a step is shorter than a
  /// sensor's window or where heat holds clocks back, which takes its own time. False: clocks and
  /// temperatures still drifted when all rounds were played.
  bool settle(const Fleet& fleet, FleetHeat& heat, const Watch& lead_in, const Watch& watch);
  /// Shows `watch` steps from the state of `heat` on, for `duration_s` seconds.
  void run(const Fleet& fleet, FleetHeat& heat, double duration_s, const Watch& watch);

  /// How many steps were shown, with the part of the last one.
  double shown_steps() const { return shown_steps_; }
  /// The play that was shown.
  const PowerPlay& play() const { return *play_; }
  /// A step at the clocks found, the last ones, with the spans of `sampled`.
  Timeline timeline(std::span<const int64_t> sampled, bool events) const;

 private:
  struct Means;
  void find_reference(const Fleet& nominal);
  void set_reference(const Fleet& nominal);
  void settle_slices(const Fleet& fleet, FleetHeat& heat) const;
  bool settle_play(const Fleet& fleet, FleetHeat& heat);
  void take_clocks(const Fleet& fleet);
  double replay(const Fleet& fleet);
  void lengthen(double share);
  double tick_s(const Fleet& fleet, double step_s) const;
  Timeline play_step(std::span<const int64_t> sampled, bool events) const;

  const EngineInput& input_;
  const StepActivities& activity_;
  cost::CostTable costs_;  ///< the input's, at the reference clock found
  double reference_hz_ = 0;
  std::unique_ptr<PowerPlay> play_;
  double length_factor_ = 1;  ///< of the play
  bool hunting_ = false;      ///< governors found no step that repeats itself
  double shown_steps_ = 0;
  std::vector<double> clocks_hz_;  ///< of the last step that the engine played, one a rank
  Timeline timeline_;
};

}  // namespace ergometer::engine
