#include "engine/power_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ergometer::engine {
namespace {

constexpr int kMostSliceRounds = 60, kUndampedRounds = 6;
constexpr int kMostReferenceRounds = 4;
constexpr double kSameLength = 5e-4;    ///< relative
constexpr double kSettledK = 0.05;      ///< largest change of a temperature that counts as none
constexpr double kSettledClock = 1e-3;  ///< the same of a clock, relative
/// Change of a clock, relative, after which a step of a run is played anew.
constexpr double kPlayAgain = 2e-3;
/// A round of the search for rest: whole steps, at least so long; where heat holds clocks back,
/// what sinks take to follow. Governors that hunt have no rest but in the mean: rounds become
/// longer, of several steps, and a quarter of what a sensor can tell is rest enough.
constexpr double kRoundS = 1, kHeldRoundS = 20, kHuntedSteps = 8;
constexpr int kMostRounds = 40, kPatientRounds = 8, kDoubledEvery = 4;
constexpr double kHuntingK = 0.25;
/// What still moves after all rounds is an answer within what a sensor shows, or none.
constexpr double kWanderingK = 1, kWandering = 0.01;
/// Shown at least: what a sensor averages over, and how long governors hunt.
constexpr double kLeastShownS = 0.05, kHuntingShownS = 20;
constexpr double kLeadInS = 2;  ///< an averaging sensor looks back for a second

/// Ticks are as long as a power sensor's window, shorter where a step is, down to a millisecond.
constexpr double kTickS = 0.025, kShortestTickS = 0.001;
constexpr double kTicksOfShortSteps = 64;
/// GPUs times ticks of one step, as far as 64 ticks allow; of a run.
constexpr double kMostGpuTicks = 1 << 17, kMostRunTicks = 1 << 26;

/// A clock between two lattice points alternates, and power with it: after a few rounds the mean of
/// what is found is approached.
double weight_of(int round) {
  return round < kUndampedRounds ? 1.0 : 1.0 / (round - kUndampedRounds + 2);
}

/// How far to go towards what a round found: all the way, less where the round before went the
/// other way. A slower step draws less, so that its clocks rise and the next one is faster.
class Damping {
 public:
  double weight(double change) {
    if (change * last_ < 0) weight_ = std::max(0.05, 0.6 * weight_);
    if (change * last_ > 0) weight_ = std::min(1.0, 1.3 * weight_);
    last_ = change;
    return weight_;
  }

 private:
  double weight_ = 1, last_ = 0;
};

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

/// Means of a round, one a GPU.
struct PowerLoop::Means {
  std::vector<double> watts, memory_w, die_c;
  double length_s = 0, rounds = 0;

  explicit Means(const Fleet& fleet) {
    for (std::vector<double>* values : {&watts, &memory_w, &die_c})
      values->assign(static_cast<size_t>(fleet.gpus()), 0.0);
  }
  void add(const Tick& tick, const FleetHeat& heat) {
    const auto now_c = heat.surroundings().die_c;
    for (size_t gpu = 0; gpu < watts.size(); ++gpu) {
      watts[gpu] += tick.length_s * tick.watts[gpu];
      memory_w[gpu] += tick.length_s * tick.memory_w[gpu];
      die_c[gpu] += tick.length_s * now_c[gpu];
    }
    length_s += tick.length_s;
  }
  /// The mean of this and those added before.
  void add(const Means& round) {
    ++rounds;
    for (size_t gpu = 0; gpu < watts.size(); ++gpu) {
      watts[gpu] += (round.watts[gpu] - watts[gpu]) / rounds;
      memory_w[gpu] += (round.memory_w[gpu] - memory_w[gpu]) / rounds;
    }
  }
  void finish() {
    for (std::vector<double>* values : {&watts, &memory_w, &die_c})
      for (double& value : *values) value /= length_s;
  }
};

PowerLoop::PowerLoop(const EngineInput& input, const StepActivities& activity, const Fleet& nominal)
    : input_(input), activity_(activity), costs_(input.costs) {
  find_reference(nominal);
}

double PowerLoop::tick_s(const Fleet& fleet, double step_s) const {
  const double most =
      std::max(kTicksOfShortSteps, std::floor(kMostGpuTicks / static_cast<double>(fleet.gpus())));
  const double fine = std::min(kTicksOfShortSteps, std::floor(step_s / kShortestTickS));
  const double ticks = std::max({1.0, fine, std::ceil(step_s / kTickS)});
  return step_s / std::min(ticks, most);
}

void PowerLoop::find_reference(const Fleet& nominal) {
  FleetHeat heat(nominal, input_.job.cluster.node);
  settle_play(nominal, heat);
  set_reference(nominal);
  // How long the slices of a play last, against the step, once the reference is known.
  play_ = std::make_unique<PowerPlay>(nominal, activity_.fine, input_.job.conditions, heat,
                                      reference_hz_);
  const double dt_s = tick_s(nominal, activity_.step_s());
  while (play_->steps() < 1) play_->advance(dt_s);
  length_factor_ = activity_.step_s() * play_->steps() / play_->now_s();
}

/// The clocks that ranks had at work since the play's mark.
void PowerLoop::take_clocks(const Fleet& fleet) {
  const std::vector<double> effective_hz = play_->effective_hz();
  clocks_hz_.clear();
  for (int64_t rank = 0; rank < fleet.ranks; ++rank)
    clocks_hz_.push_back(effective_hz[fleet.gpu_of(rank)]);
}

/// The slowest rank's clock would be the reference if that rank set the pace of every part of the
/// step. Where it does not, the step would come out shorter than its prices say: the reference is
/// the clock at which it comes out as long.
void PowerLoop::set_reference(const Fleet& nominal) {
  take_clocks(nominal);
  const double slowest_hz = *std::min_element(clocks_hz_.begin(), clocks_hz_.end());
  const double priced_s = activity_.step_s();
  double low_hz = 0, low_s = 0;  // of the round before
  reference_hz_ = slowest_hz;
  for (int round = 0; round < kMostReferenceRounds; ++round) {
    costs_.reference_clock_hz = reference_hz_;
    const double step_s = play_step({}, false).step_s;
    const double missing_s = priced_s - step_s;
    if (std::abs(missing_s) < kSameLength * priced_s) return;
    const double s_per_hz =
        low_hz > 0 ? (step_s - low_s) / (reference_hz_ - low_hz) : step_s / reference_hz_;
    if (!(s_per_hz > 0)) return;  // nothing in it follows the clock
    low_hz = std::exchange(reference_hz_, reference_hz_ + missing_s / s_per_hz);
    low_s = step_s;
    reference_hz_ = std::clamp(reference_hz_, slowest_hz / 2, 2 * slowest_hz);
  }
  costs_.reference_clock_hz = reference_hz_;
}

/// Close to where the play settles, in closed form.
void PowerLoop::settle_slices(const Fleet& fleet, FleetHeat& heat) const {
  const GovernedStep governed(fleet, activity_.coarse);
  FleetStep step;
  for (int round = 0; round < kMostSliceRounds; ++round) {
    if (reference_hz_ > 0)
      governed.at_pace(reference_hz_, heat.surroundings(), step);
    else
      governed.at_length(activity_.step_s(), heat.surroundings(), step);
    heat.settle(step, weight_of(round));
    if (heat.moved_k() < kSettledK && heat.moved_clock() < kSettledClock) return;
  }
}

/// The engine plays a step at the clocks that the play had since its mark. Returns how much longer
/// that is than the play's steps, relative.
double PowerLoop::replay(const Fleet& fleet) {
  take_clocks(fleet);
  timeline_ = play_step({}, false);
  return timeline_.step_s / play_->marked_step_s() - 1;
}

void PowerLoop::lengthen(double share) {
  length_factor_ *= 1 + share;
  play_->set_length_factor(length_factor_);
}

bool PowerLoop::settle_play(const Fleet& fleet, FleetHeat& heat) {
  settle_slices(fleet, heat);
  play_ = std::make_unique<PowerPlay>(fleet, activity_.fine, input_.job.conditions, heat,
                                      reference_hz_);
  play_->set_length_factor(length_factor_);
  std::vector<double> last_c(heat.surroundings().die_c.begin(), heat.surroundings().die_c.end());
  double step_s = activity_.step_s();
  Means hunted(fleet);
  Damping damping;
  double missed = 0, largest_moved_k = 0;  // over the second half of all rounds
  bool held = false;                       // heat held clocks back, now or before
  for (int round = 0; round < kMostRounds; ++round) {
    held = held || play_->held_by_heat();
    const double dt_s = tick_s(fleet, step_s);
    hunting_ = held || round >= kPatientRounds;
    const double longer = std::exp2(std::max(0, round - kPatientRounds) / kDoubledEvery);
    const double least_s = held ? kHeldRoundS : kRoundS * longer;
    const double wanted =
        std::max(hunting_ && !held ? kHuntedSteps : 1.0, std::ceil(least_s / step_s));
    Means means(fleet);
    play_->mark();
    const auto ticks = static_cast<int64_t>(std::round(wanted * step_s / dt_s));
    for (int64_t i = 0; i < ticks; ++i) means.add(play_->advance(dt_s), heat);
    means.finish();
    const double missing = reference_hz_ > 0 ? replay(fleet) : 0;
    lengthen(missing * damping.weight(missing));
    step_s = reference_hz_ > 0 ? timeline_.step_s : activity_.step_s();
    // A thermal governor's ceiling is a state that no closed form jumps to: time has to pass.
    held = held || play_->held_by_heat();
    if (!held) {
      if (hunting_) hunted.add(means);
      if (hunting_) means = hunted;
      heat.settle(means.watts, means.memory_w);
      means.die_c.assign(heat.surroundings().die_c.begin(), heat.surroundings().die_c.end());
    }
    const double moved_k = largest_difference(means.die_c, last_c);
    last_c = means.die_c;
    if (round >= kMostRounds / 2) largest_moved_k = std::max(largest_moved_k, moved_k);
    if (moved_k < (hunting_ ? kHuntingK : kSettledK) &&
        std::abs(missing) < (hunting_ ? 4 : 1) * kSameLength)
      return true;
    if (round >= kMostRounds / 2) missed += missing / (kMostRounds / 2.0);
  }
  return largest_moved_k < kWanderingK && std::abs(missed) < kWandering;
}

bool PowerLoop::settle(const Fleet& fleet, FleetHeat& heat, const Watch& lead_in,
                       const Watch& watch) {
  const bool settled = settle_play(fleet, heat);
  const double step_s = timeline_.step_s, dt_s = tick_s(fleet, step_s);
  const auto ticks = static_cast<int64_t>(std::round(step_s / dt_s));
  const auto before = ticks * static_cast<int64_t>(std::max(1.0, std::ceil(kLeadInS / step_s)));
  for (int64_t i = 0; i < before; ++i) lead_in(play_->advance(dt_s));
  const double least_s = hunting_ || play_->held_by_heat() ? kHuntingShownS : kLeastShownS;
  shown_steps_ = std::max(1.0, std::ceil(least_s / step_s));
  play_->restart();
  for (int64_t i = 0; i < ticks * static_cast<int64_t>(shown_steps_); ++i)
    watch(play_->advance(dt_s));
  return settled;
}

void PowerLoop::run(const Fleet& fleet, FleetHeat& heat, double duration_s, const Watch& watch) {
  play_ = std::make_unique<PowerPlay>(fleet, activity_.fine, input_.job.conditions, heat,
                                      reference_hz_);
  play_->set_length_factor(length_factor_);
  const double finest_s = std::max(std::min(kTickS, tick_s(fleet, activity_.step_s())),
                                   duration_s * static_cast<double>(fleet.gpus()) / kMostRunTicks);
  const auto ticks = static_cast<int64_t>(std::max(1.0, std::ceil(duration_s / finest_s)));
  const double dt_s = duration_s / static_cast<double>(ticks);
  std::vector<double> played_hz;
  for (int64_t i = 0; i < ticks; ++i) {
    watch(play_->advance(dt_s));
    const bool last = i + 1 == ticks;
    if (play_->marked_steps() < 1 && !(last && played_hz.empty())) continue;
    const std::vector<double> effective_hz = play_->effective_hz();
    double change = played_hz.empty() ? 1 : 0;
    for (size_t gpu = 0; gpu < played_hz.size(); ++gpu)
      change = std::max(change, std::abs(effective_hz[gpu] / played_hz[gpu] - 1));
    if (change > kPlayAgain) {
      lengthen(replay(fleet));
      played_hz = effective_hz;
    }
    play_->mark();
  }
  shown_steps_ = play_->steps();
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
