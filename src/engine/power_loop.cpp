#include "engine/power_loop.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace ergometer::engine {
namespace {

constexpr int kMostRounds = 60, kMostPlays = 6, kUndampedRounds = 6;
constexpr int kMostReferenceRounds = 4;
constexpr double kSameLength = 5e-4;    ///< relative
constexpr double kSettledK = 0.02;      ///< largest change of a temperature that counts as none
constexpr double kSettledClock = 1e-3;  ///< the same of a clock, relative
constexpr double kPlayAgain = 5e-4;     ///< change of a clock after which the step is played anew
/// While temperatures move, this much in one stretch of constant power.
constexpr double kLargestMoveK = 1.0;
constexpr double kFirstStretchS = 0.5, kLongestStretchS = 10, kMostStretches = 1000;

/// Clocks that ranks have at work, one a rank.
std::vector<double> effective_clocks(const FleetStep& step, const Fleet& fleet) {
  std::vector<double> clocks_hz;
  clocks_hz.reserve(static_cast<size_t>(fleet.ranks));
  for (int64_t rank = 0; rank < fleet.ranks; ++rank)
    clocks_hz.push_back(step.gpus[fleet.gpu_of(rank)].effective_hz);
  return clocks_hz;
}

/// A clock between two lattice points alternates, and power with it: after a few rounds the mean of
/// what is found is approached.
double weight_of(int round) {
  return round < kUndampedRounds ? 1.0 : 1.0 / (round - kUndampedRounds + 2);
}

}  // namespace

PowerLoop::PowerLoop(const EngineInput& input, const StepActivity& activity,
                     const StepActivity& fine, const Fleet& nominal)
    : input_(input), activity_(activity), fine_(fine), costs_(input.costs) {
  find_reference(nominal);
}

void PowerLoop::find_reference(const Fleet& nominal) {
  const GovernedStep governed(nominal, activity_, fine_);
  FleetHeat heat(nominal, input_.job.cluster.node);
  for (int round = 0; round < kMostRounds; ++round) {
    governed.at_length(activity_.step_s, heat.surroundings(), step_);
    heat.settle(step_, weight_of(round));
    if (heat.moved_k() < kSettledK && heat.moved_clock() < kSettledClock) break;
  }
  set_reference(nominal);
}

/// The slowest rank's clock would be the reference if that rank set the pace of every part of the
/// step. Where it does not, the step would come out shorter than its prices say: the reference is
/// the clock at which it comes out as long.
void PowerLoop::set_reference(const Fleet& nominal) {
  clocks_hz_ = effective_clocks(step_, nominal);
  const double slowest_hz = *std::min_element(clocks_hz_.begin(), clocks_hz_.end());
  double low_hz = 0, low_s = 0;  // of the round before
  reference_hz_ = slowest_hz;
  for (int round = 0; round < kMostReferenceRounds; ++round) {
    costs_.reference_clock_hz = reference_hz_;
    const double step_s = play_step({}, false).step_s;
    const double missing_s = activity_.step_s - step_s;
    if (std::abs(missing_s) < kSameLength * activity_.step_s) return;
    const double s_per_hz =
        low_hz > 0 ? (step_s - low_s) / (reference_hz_ - low_hz) : step_s / reference_hz_;
    if (!(s_per_hz > 0)) return;  // nothing in it follows the clock
    low_hz = std::exchange(reference_hz_, reference_hz_ + missing_s / s_per_hz);
    low_s = step_s;
    reference_hz_ = std::clamp(reference_hz_, slowest_hz / 2, 2 * slowest_hz);
  }
  costs_.reference_clock_hz = reference_hz_;
}

/// The largest relative change of a clock since the last step played.
double PowerLoop::clock_change() const {
  if (played_hz_.empty()) return 1;
  double change = 0;
  for (size_t gpu = 0; gpu < played_hz_.size(); ++gpu)
    change = std::max(change, std::abs(step_.gpus[gpu].effective_hz / played_hz_[gpu] - 1));
  return change;
}

void PowerLoop::play(const Fleet& fleet) {
  played_hz_.clear();
  for (const GpuStep& gpu : step_.gpus) played_hz_.push_back(gpu.effective_hz);
  clocks_hz_ = effective_clocks(step_, fleet);
  const double slices_s = step_.step_s / length_factor_;
  timeline_ = play_step({}, false);
  length_factor_ = timeline_.step_s / slices_s;
}

void PowerLoop::decide(FleetHeat& heat) {
  governed_->at_pace(reference_hz_, length_factor_, heat.surroundings(), step_);
}

bool PowerLoop::settle(const Fleet& fleet, FleetHeat& heat) {
  governed_ = std::make_unique<GovernedStep>(fleet, activity_, fine_);
  for (int plays = 0; plays < kMostPlays; ++plays) {
    const bool settled = settle_heat(heat);
    const double before = length_factor_;
    play(fleet);
    if (std::abs(length_factor_ / before - 1) < kSettledClock) return settled;
  }
  return false;
}

/// With the relation between slices and step that the last play found.
bool PowerLoop::settle_heat(FleetHeat& heat) {
  for (int round = 0; round < kMostRounds; ++round) {
    decide(heat);
    heat.settle(step_, weight_of(round));
    if (heat.moved_k() < kSettledK && heat.moved_clock() < kSettledClock) return true;
  }
  return false;
}

void PowerLoop::run(const Fleet& fleet, FleetHeat& heat, double duration_s,
                    const std::function<void(double, double)>& watch) {
  governed_ = std::make_unique<GovernedStep>(fleet, activity_, fine_);
  played_hz_.clear();
  double stretch_s = kFirstStretchS;
  for (double now_s = 0; now_s < duration_s;) {
    decide(heat);
    if (clock_change() > kPlayAgain) play(fleet);
    const double length_s = std::min(stretch_s, duration_s - now_s);
    heat.advance(length_s, step_);
    watch(now_s, length_s);
    now_s += length_s;
    const double moved_k = std::max(heat.moved_k(), 1e-3);
    stretch_s = std::clamp(length_s * std::min(2.0, kLargestMoveK / moved_k), kFirstStretchS,
                           std::max(kLongestStretchS, duration_s / kMostStretches));
    if (heat.moved_clock() > kSettledClock) stretch_s = std::min(stretch_s, 2.0);
  }
}

Timeline PowerLoop::timeline(std::span<const int64_t> sampled, bool events) const {
  return sampled.empty() && !events ? timeline_ : play_step(sampled, events);
}

Timeline PowerLoop::play_step(std::span<const int64_t> sampled, bool events) const {
  const EngineInput input{.job = input_.job,
                          .plan = input_.plan,
                          .costs = costs_,
                          .clocks_hz = clocks_hz_,
                          .sampled_ranks = sampled,
                          .stretch = input_.stretch};
  return events ? simulate_events(input) : sweep(input);
}

}  // namespace ergometer::engine
