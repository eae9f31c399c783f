#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/fleet_heat.h"
#include "engine/governed_step.h"
#include "engine/timeline.h"

namespace ergometer::engine {

/// The loop between time, power and heat. One step is played with the clocks of the moment; its
/// joules warm the GPUs; governors and fans answer; the next step is played with the new clocks.
///
/// Prices hold for the clocks that measured runs had, at the vendor's default limits in an ordinary
/// room: so at nominal conditions a job takes the time that its prices say, at whatever clock the
/// governor then decides. That clock is the job's reference clock, and conditions change the time
/// by how they move the clocks away from it.
class PowerLoop {
 public:
  /// `input`: clocks and sampled ranks are ignored. `nominal`: the fleet without what the user
  /// changed. All are kept by reference.
  PowerLoop(const EngineInput& input, const StepActivity& activity, const StepActivity& fine,
            const Fleet& nominal);

  /// The clock that nominal conditions settle at, of the ranks that set the pace.
  double reference_hz() const { return reference_hz_; }

  /// From here on with this fleet: straight to where clocks and temperatures no longer change.
  /// False: they still alternated after many rounds, by less than a lattice step or so.
  bool settle(const Fleet& fleet, FleetHeat& heat);

  /// Steps from the state of `heat` on, for `duration_s` seconds, in stretches of constant power,
  /// parts of a step or many, as fast as temperatures move. `watch` sees every stretch: its start
  /// and its length, after the heat moved.
  void run(const Fleet& fleet, FleetHeat& heat, double duration_s,
           const std::function<void(double start_s, double length_s)>& watch);

  const FleetStep& step() const { return step_; }
  const GovernedStep& governed() const { return *governed_; }
  /// A step at the clocks found, with the spans of `sampled`.
  Timeline timeline(std::span<const int64_t> sampled, bool events) const;

 private:
  void find_reference(const Fleet& nominal);
  void set_reference(const Fleet& nominal);
  void decide(FleetHeat& heat);
  bool settle_heat(FleetHeat& heat);
  double clock_change() const;
  void play(const Fleet& fleet);
  Timeline play_step(std::span<const int64_t> sampled, bool events) const;

  const EngineInput& input_;
  const StepActivity& activity_;
  const StepActivity& fine_;
  cost::CostTable costs_;  ///< the input's, at the reference clock found
  double reference_hz_ = 0;
  std::unique_ptr<GovernedStep> governed_;
  FleetStep step_;
  // The last step played.
  std::vector<double> played_hz_;  ///< clocks, one a GPU of the fleet
  std::vector<double> clocks_hz_;  ///< the same, one a rank
  Timeline timeline_;
  double length_factor_ = 1;
};

}  // namespace ergometer::engine
