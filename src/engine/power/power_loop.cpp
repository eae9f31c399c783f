#include "engine/power/power_loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ergometer::engine {
namespace {

constexpr int kMostSliceRounds = 60, kUndampedRounds = 6;
constexpr int kMostReferenceRounds = 6;
constexpr double kSameLength = 5e-4;     ///< of a step, relative
constexpr double kSamePrice = 1e-5;      ///< the same at nominal conditions
constexpr double kSameReference = 1e-3;  ///< of a clock, relative
constexpr int kMostNominalRounds = 3;
/// Largest change of a temperature that counts as none: between slices, and between rounds of
/// ticks, whose fall on bursts moves it by some tenths: a quarter of what sensors tell.
constexpr double kSettledK = 0.05, kSettledInTicksK = 0.25;
constexpr double kSettledClock = 1e-3;  ///< the same of a clock, relative
/// Change of a clock, relative, after which a step of a run is played anew; by how much its length
/// may then miss what the engine says; how often that is looked for.
constexpr double kPlayAgain = 2e-3, kFollowed = 1e-3;
constexpr int kMostReplays = 4;
/// A round of the search for rest: whole steps, at least so long; where heat holds clocks back,
/// or smoothing burns what bursts leave of the cap, what sinks and burnt power take to follow.
/// Governors that hunt have no rest but in the mean: rounds become longer, of several steps.
constexpr double kRoundS = 1, kSlowRoundS = 20, kHuntedSteps = 8;
constexpr int kMostRounds = 40, kPatientRounds = 8, kDoubledEvery = 4;
/// What still moves after all rounds is an answer within what a sensor shows, or none.
constexpr double kWanderingK = 1, kWandering = 0.01;
/// Shown at least: what a sensor averages over, and how long governors hunt.
constexpr double kLeastShownS = 0.05, kHuntingShownS = 20;
constexpr double kLeadInS = 1.1;  ///< an averaging sensor looks back for a second

/// From idle GPUs to rest: twenty times what a heat sink takes to follow, some minute.
constexpr double kWarmS = 1200;

/// Ticks are a fifth of what governors and sensors look at, shorter where a step is, down to a
/// millisecond: how ticks happen to fall on a burst moves its peak by a few percent, where ticks as
/// long as the governor's alarm move it by a third.
constexpr double kTickS = 0.005, kShortestTickS = 0.001;
constexpr double kTicksOfShortSteps = 64;
/// Coarse ticks are so many of these, as far as a governor's alarm looks.
constexpr double kCoarser = 5;
constexpr double kLongestStep = 20;  ///< at the lowest clocks, of one at the reference clock
/// GPUs times ticks of one step, as far as 64 ticks allow; of a run.
constexpr double kMostGpuTicks = 1 << 17, kMostRunTicks = 1 << 26;

/// A clock between two lattice points alternates, and power with it: after a few rounds the mean of
/// what is found is approached.
double weight_of(int round) {
  return round < kUndampedRounds ? 1.0 : 1.0 / (round - kUndampedRounds + 2);
}

/// Looks for the length factor at which the play's steps last what the engine says. As a rule what
/// the play lacks falls by a hundredth where the factor rises by one; by less where a cap lets
/// slower work have a higher clock; near what a GPU draws standing still, by many: so it goes along
/// the line through the last two.
class LengthSearch {
 public:
  /// `fall`: of what the play lacks, how much a factor that is larger by one takes away; kept, for
  /// the next search.
  explicit LengthSearch(double& fall) : fall_(fall) {}
  /// `missing`: what the play lacked of the engine's step at this factor, relative.
  double next(double factor, double missing) {
    const double fall = (last_missing_ - missing) / (factor / last_factor_ - 1);
    if (std::isfinite(fall))
      fall_ = std::clamp(fall, std::abs(missing) < kNear ? kGentlest : 1, kSteepest);
    last_factor_ = factor;
    last_missing_ = missing;
    return factor * (1 + std::clamp(missing / fall_, -kLongest, kLongest));
  }

 private:
  static constexpr double kNear = 0.03, kGentlest = 0.25, kSteepest = 20, kLongest = 0.3;
  double& fall_;
  double last_factor_ = INFINITY, last_missing_ = INFINITY;
};

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

/// Means of a round, one a GPU.
struct PowerLoop::Means {
  const Fleet* fleet;
  std::vector<double> watts, memory_w, die_c;
  /// By kind and `Fleet::row_of`, while the round lasts.
  std::vector<std::vector<double>> row_memory_w;
  double length_s = 0, rounds = 0;

  explicit Means(const Fleet& of) : fleet(&of) {
    for (std::vector<double>* values : {&watts, &memory_w, &die_c})
      values->assign(static_cast<size_t>(fleet->gpus()), 0.0);
  }
  void add(const Tick& tick, const FleetHeat& heat) {
    const auto now_c = heat.surroundings().die_c;
    for (size_t gpu = 0; gpu < watts.size(); ++gpu) {
      watts[gpu] += tick.length_s * tick.watts[gpu];
      die_c[gpu] += tick.length_s * now_c[gpu];
    }
    row_memory_w.resize(fleet->kinds.size());
    for (size_t kind = 0; kind < row_memory_w.size(); ++kind) {
      std::vector<double>& rows = row_memory_w[kind];
      rows.resize(tick.loads.size());
      for (size_t row = 0; row < rows.size(); ++row)
        rows[row] += tick.length_s * fleet->kinds[kind].gpu.memory_heat_w(tick.loads[row]);
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
    for (size_t gpu = 0; gpu < memory_w.size(); ++gpu)
      memory_w[gpu] = fleet->is_others(gpu) ? fleet->other_memory_w[gpu] * length_s
                                            : row_memory_w[fleet->kind_of(gpu)][fleet->row_of(gpu)];
    for (std::vector<double>* values : {&watts, &memory_w, &die_c})
      for (double& value : *values) value /= length_s;
  }
};

PowerLoop::PowerLoop(const EngineInput& input, const Played& nominal)
    : input_(input), priced_s_(nominal.work.step_s()), costs_(input.costs) {
  begin(nominal, settle_slices(nominal));
  // First slices last what they are priced at, whatever their clock.
  const auto as_priced = [] { return 0.0; };
  const Grain first = play_->held_by_heat() ? Grain::kFine : grains().front();
  rests_ = rest(nominal, first, as_priced);
  find_paces(nominal.fleet);
  take_clocks();
  find_reference();
  if (!steady_) return;
  // A machine that cannot be cooled or fed: what its clocks do from one moment to the next would
  // move the step manyfold.
  if (reference_hz_ < kSlowMemoryClock * nominal.fleet.kinds.front().gpu.clocks.highest_hz) {
    if (first != Grain::kFine) rests_ = rest(nominal, Grain::kFine, as_priced);
    return;
  }
  // Then what they last at their clocks, which moves the clocks a little.
  for (const Grain grain : grains()) settle_nominal(nominal, grain);
  play_->set_pace(reference_hz_, length_factor_);
}

void PowerLoop::settle_nominal(const Played& nominal, Grain grain) {
  for (int round = 0; round < kMostNominalRounds; ++round) {
    play_->set_pace(reference_hz_, length_factor_);
    rests_ = rest(nominal, grain, [this] { return priced_s_ / play_->marked_step_s() - 1; });
    take_clocks();
    const double before_hz = reference_hz_;
    find_reference();
    length_factor_ *= before_hz / reference_hz_;  // slices stay as long as they are
    if (std::abs(before_hz / reference_hz_ - 1) < kSameReference) break;
  }
}

void PowerLoop::settle(const Played& played) {
  begin(played, settle_slices(played));
  // Until governors have come down from their highest clock.
  play_until(std::ceil(kRoundS / priced_s_), priced_s_, tick_s(priced_s_, Grain::kCoarse),
             [](const Tick&) {});
  for (const Grain grain : grains())
    rests_ = rest(played, grain, [this] { return missing_of_replay(); });
}

double PowerLoop::tick_s(double step_s, Grain grain) const {
  const double most =
      std::max(kTicksOfShortSteps, std::floor(kMostGpuTicks / static_cast<double>(fleet_->gpus())));
  const double fine = std::min(kTicksOfShortSteps, std::floor(step_s / kShortestTickS));
  const double ticks = std::max({1.0, fine, std::ceil(step_s / kTickS)});
  const double finest_s = step_s / std::min(ticks, most);
  if (grain == Grain::kFine || finest_s >= kGovernorAlarmS) return finest_s;
  return step_s / std::ceil(step_s / std::min(kCoarser * finest_s, kGovernorAlarmS));
}

/// Those that the search for rest goes through, one after the other.
std::span<const PowerLoop::Grain> PowerLoop::grains() const {
  static constexpr std::array kBoth = {Grain::kCoarse, Grain::kFine};
  const bool same = tick_s(priced_s_, Grain::kCoarse) == tick_s(priced_s_, Grain::kFine);
  return std::span(kBoth).subspan(same ? 1 : 0);
}

void PowerLoop::begin(const Played& played, std::span<const double> trim_w) {
  fleet_ = &played.fleet;
  heat_ = &played.heat;
  length_fall_ = 1;
  followed_hz_.clear();
  replays_left_ = 0;
  play_ = std::make_unique<PowerPlay>(played.fleet, played.work.fine, played.conditions,
                                      played.heat, reference_hz_, trim_w);
  play_->set_pace(reference_hz_, length_factor_);
}

/// Every kind's prices hold at the mean clock that its ranks had at work since the play's mark.
void PowerLoop::find_paces(Fleet& fleet) const {
  if (fleet.kinds.size() == 1) return;
  const std::vector<double> effective_hz = play_->effective_hz();
  std::vector<double> mean_hz(fleet.kinds.size());
  for (size_t gpu = 0; gpu < effective_hz.size(); ++gpu)
    if (const size_t kind = fleet.kind_of(gpu); fleet.role[gpu] >= 0)
      mean_hz[kind] += fleet.weight_of(gpu) * effective_hz[gpu] / fleet.kinds[kind].ranks;
  for (size_t kind = 1; kind < mean_hz.size(); ++kind)
    fleet.kinds[kind].pace = mean_hz[kind] / mean_hz[0];
}

/// The clocks that ranks had at work since the play's mark.
void PowerLoop::take_clocks() {
  const std::vector<double> effective_hz = play_->effective_hz();
  clocks_hz_.clear();
  for (int64_t rank = 0; rank < fleet_->ranks; ++rank) {
    const size_t gpu = fleet_->gpu_of(rank);
    clocks_hz_.push_back(effective_hz[gpu] / fleet_->of_gpu(gpu).pace);
  }
}

/// The slowest rank's clock would be the reference if that rank set the pace of every part of the
/// step. Where it does not, the step would come out shorter than its prices say: the reference is
/// the clock at which it comes out as long.
void PowerLoop::find_reference() {
  const auto [slowest, fastest] = std::ranges::minmax_element(clocks_hz_);
  if (s_per_hz_ <= 0) s_per_hz_ = priced_s_ / *slowest;
  reference_hz_ = std::clamp(reference_hz_, *slowest, *fastest);
  double last_hz = 0, last_s = 0;  // of the round before
  for (int round = 0; round < kMostReferenceRounds; ++round) {
    costs_.reference_clock_hz = reference_hz_;
    play_step();
    const double missing_s = priced_s_ - timeline_.step_s;
    if (std::abs(missing_s) < kSamePrice * priced_s_) return;
    const double per_hz = (timeline_.step_s - last_s) / (reference_hz_ - last_hz);
    if (last_hz > 0 && std::isfinite(per_hz)) s_per_hz_ = per_hz;
    if (!(s_per_hz_ > 0)) return;  // nothing in it follows the clock
    last_hz = std::exchange(reference_hz_,
                            std::clamp(reference_hz_ + missing_s / s_per_hz_, *slowest, *fastest));
    last_s = timeline_.step_s;
    if (reference_hz_ == last_hz) return;
  }
}

/// Close to where the play settles, in closed form: where governors are then.
std::vector<double> PowerLoop::settle_slices(const Played& played) const {
  GovernedStep governed(played.fleet, played.work.coarse);
  FleetHeat& heat = played.heat;
  FleetStep step;
  for (int round = 0; round < kMostSliceRounds; ++round) {
    if (reference_hz_ > 0)
      governed.at_pace(reference_hz_, heat.surroundings(), step);
    else
      governed.at_length(priced_s_, heat.surroundings(), step);
    governed.trim(step);
    heat.settle(step, weight_of(round));
    if (heat.moved_k() < kSettledK && heat.moved_clock() < kSettledClock) break;
  }
  return governed.trims_w();
}

/// The engine plays a step at the clocks that the play had since its mark: how much longer that is
/// than the play's steps, relative.
double PowerLoop::missing_of_replay() {
  take_clocks();
  play_step();
  return timeline_.step_s / play_->marked_step_s() - 1;
}

/// Plays in ticks of `dt_s` until so many steps are done, but for half a tick: steps are `step_s`
/// long.
void PowerLoop::play_until(double steps, double step_s, double dt_s, const Watch& watch) {
  while (play_->steps() + dt_s / step_s / 2 < steps) watch(play_->advance(dt_s));
}

void PowerLoop::keep(const Tick& tick) {
  std::vector<double> watts;
  if (static_cast<double>(last_w_.size()) * tick.length_s >= kLeadInS) {
    watts = std::move(last_w_.front());
    last_w_.pop_front();
  }
  watts = tick.watts;
  last_w_.push_back(std::move(watts));
}

/// Plays rounds until they repeat themselves. `lacking`: how much longer the step is to be than the
/// play's in the last round, relative. Returns whether it came to that. Coarse ticks only come near
/// it: what does not within a few rounds is left to fine ones.
bool PowerLoop::rest(const Played& played, Grain grain, const std::function<double()>& lacking) {
  FleetHeat& heat = played.heat;
  std::vector<double> last_c(heat.surroundings().die_c.begin(), heat.surroundings().die_c.end());
  double last_step = std::round(play_->steps());  // rounds end where a step does
  double step_s = play_->marked_steps() < 1 ? priced_s_ : play_->marked_step_s();
  Means hunted(played.fleet);
  LengthSearch length(length_fall_);
  double missed = 0, largest_moved_k = 0;  // over the second half of all rounds
  bool held = false;                       // heat held clocks back, now or before
  hunting_ = false;
  last_w_.clear();
  const bool fine = grain == Grain::kFine;
  for (int round = 0; round < (fine ? kMostRounds : kPatientRounds); ++round) {
    held = held || play_->held_by_heat();
    hunting_ = held || round >= kPatientRounds;
    const double longer = std::exp2(std::max(0, round - kPatientRounds) / kDoubledEvery);
    const double slow_s = held || play_->smooths() ? kSlowRoundS : kRoundS;
    const double least_s = held ? slow_s : std::max(slow_s, kRoundS * longer);
    const double wanted =
        std::max(hunting_ && !held ? kHuntedSteps : 1.0, std::ceil(least_s / step_s));
    Means means(played.fleet);
    play_->mark();
    play_until(last_step += wanted, step_s, tick_s(step_s, grain), [&](const Tick& tick) {
      means.add(tick, heat);
      if (fine) keep(tick);
    });
    means.finish();
    const double missing = lacking();
    if (!steady_) return false;  // the engine's step says nothing
    length_factor_ = length.next(length_factor_, missing);
    play_->set_pace(reference_hz_, length_factor_);
    step_s = play_->marked_step_s() * (1 + missing);
    // A thermal governor's ceiling is a state that no closed form jumps to: time has to pass.
    held = held || play_->held_by_heat();
    if (fine) at_end_ = heat.moment();
    if (!held) {
      if (hunting_) hunted.add(means);
      if (hunting_) means = hunted;
      heat.settle(means.watts, means.memory_w, hunting_);
      means.die_c.assign(heat.surroundings().die_c.begin(), heat.surroundings().die_c.end());
    }
    const double moved_k = largest_difference(means.die_c, last_c);
    last_c = means.die_c;
    if (round >= kMostRounds / 2) largest_moved_k = std::max(largest_moved_k, moved_k);
    if (moved_k < kSettledInTicksK && std::abs(missing) < (hunting_ ? 4 : 1) * kSameLength)
      return true;
    if (round >= kMostRounds / 2) missed += missing / (kMostRounds / 2.0);
  }
  return fine && largest_moved_k < kWanderingK && std::abs(missed) < kWandering;
}

void PowerLoop::show(const Watch& lead_in, const Watch& watch) {
  const double step_s = timeline_.step_s, dt_s = tick_s(step_s);
  Tick past;
  past.length_s = dt_s;
  for (const std::vector<double>& watts : last_w_) {
    past.watts = watts;
    lead_in(past);
  }
  heat_->resume(at_end_);
  const double least_s = hunting_ || play_->held_by_heat() ? kHuntingShownS : kLeastShownS;
  shown_steps_ = std::max(1.0, std::ceil(least_s / step_s));
  play_->restart();
  const auto ticks = static_cast<int64_t>(std::round(shown_steps_ * step_s / dt_s));
  for (int64_t i = 0; i < ticks; ++i) watch(play_->advance(dt_s));
}

/// The shortest tick of a run that is so long.
double PowerLoop::shortest_tick_s(double run_s) const {
  return run_s * static_cast<double>(fleet_->gpus()) / kMostRunTicks;
}

void PowerLoop::run(const Played& played, double duration_s, const Watch& watch) {
  begin(played, {});
  const double finest_s =
      std::max(std::min(kTickS, tick_s(priced_s_)), shortest_tick_s(duration_s));
  const auto ticks = static_cast<int64_t>(std::max(1.0, std::ceil(duration_s / finest_s)));
  const double dt_s = duration_s / static_cast<double>(ticks);
  for (int64_t i = 0; i < ticks; ++i) {
    watch(play_->advance(dt_s));
    follow(false);
  }
  shown_steps_ = play_->steps();
  if (!followed_hz_.empty()) return;
  // What a step takes is known when one has ended, which nobody watches. GPUs that have shut down
  // end none.
  for (double left_s = kLongestStep * priced_s_; left_s > 0 && play_->marked_steps() < 1;
       left_s -= tick_s(priced_s_))
    play_->advance(tick_s(priced_s_));
  const bool ended = play_->marked_steps() >= 1;
  follow(true);
  if (ended) shown_steps_ = duration_s / timeline_.step_s;
}

/// At the end of a step whose clocks are others than in the one that the engine played last, or
/// that did not yet last as long as that said, it plays again; `last`: once at least.
void PowerLoop::follow(bool last) {
  if (play_->marked_steps() < 1 && !(last && followed_hz_.empty())) return;
  const std::vector<double> effective_hz = play_->effective_hz();
  double change = followed_hz_.empty() ? 1 : 0;
  for (size_t gpu = 0; gpu < followed_hz_.size(); ++gpu)
    change = std::max(change, std::abs(effective_hz[gpu] / followed_hz_[gpu] - 1));
  if (change > kPlayAgain) {
    replays_left_ = kMostReplays;
    followed_hz_ = effective_hz;
  }
  if (replays_left_ > 0) {
    --replays_left_;
    const double missing = missing_of_replay();
    length_factor_ *= 1 + missing;
    play_->set_pace(reference_hz_, length_factor_);
    if (std::abs(missing) < kFollowed) replays_left_ = 0;
  }
  play_->mark();
}

void PowerLoop::rehearse_first_step(const Played& played, const std::function<void()>& start) {
  double fall = 1;
  LengthSearch length(fall);
  for (int round = 0; round < kMostReplays; ++round) {
    start();
    begin(played, {});
    play_until(1, priced_s_, tick_s(priced_s_), [](const Tick&) {});
    const double missing = missing_of_replay();
    length_factor_ = length.next(length_factor_, missing);
    if (std::abs(missing) < kFollowed) return;
  }
}

void PowerLoop::run_to_step(const Played& played, int64_t step, const Watch& lead_in,
                            const Watch& watch) {
  begin(played, {});
  const double dt_s = tick_s(priced_s_);
  const double before = std::min(static_cast<double>(step - 1), std::ceil(kWarmS / priced_s_));
  const double seen =
      std::min(before, std::max<double>(kMostReplays, std::ceil(kLeadInS / priced_s_)));
  const double coarse_s = std::max(
      {dt_s, priced_s_ / kTicksOfShortSteps, shortest_tick_s((before - seen) * priced_s_)});
  play_until(before - seen, priced_s_, coarse_s, [&](const Tick&) { follow(false); });
  replays_left_ = kMostReplays;  // governors answer otherwise in ticks of another length
  play_until(before, priced_s_, dt_s, [&](const Tick& tick) {
    lead_in(tick);
    follow(false);
  });
  play_->restart();
  play_until(1, priced_s_, dt_s, watch);
  missing_of_replay();
  shown_steps_ = play_->steps();
}

EngineInput PowerLoop::at_clocks() const {
  return {.job = input_.job,
          .plan = input_.plan,
          .costs = costs_,
          .clocks_hz = clocks_hz_,
          .sampled_ranks = {},
          .stretch = input_.stretch};
}

void PowerLoop::play_step() {
  timeline_ = sweep(at_clocks(), compiled_);
  steady_ = steady_ && timeline_.steady;
}

std::optional<double> PowerLoop::step_s_at(std::span<const double> clocks_hz) const {
  EngineInput input = at_clocks();
  input.clocks_hz = clocks_hz;
  const Timeline timeline = sweep(input);
  if (!timeline.steady) return std::nullopt;
  return timeline.step_s;
}

Timeline PowerLoop::play_events() const {
  EngineInput input = at_clocks();
  input.sampled_ranks = input_.sampled_ranks;
  return simulate_events(input);
}

}  // namespace ergometer::engine
