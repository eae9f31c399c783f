#include "search/play.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel.h"
#include "engine/outcome/powered.h"
#include "engine/prepared.h"
#include "engine/simulate.h"
#include "physics/gpu_power.h"
#include "search/simplest.h"

namespace ergometer::search {
namespace {

constexpr size_t kSeconds = 0;  ///< of `Limits::most`

class Player {
 public:
  Player(const Space& space, const SearchOptions& options, const Kept& kept)
      : space_(space), options_(options), kept_(kept) {}

  /// Both return how many cannot be told from the best one.
  int64_t play_best(std::vector<Played>& best) const;
  int64_t play_limited(std::vector<Played>& best) const;
  std::vector<LimitAnswer> limits(const std::vector<Played>& best) const;

 private:
  std::vector<Played> play_all(std::span<const Found> found, bool with_physics) const;
  double value(const Played& played) const;
  bool needs_physics() const;
  bool within_limits(const Played& played) const;
  std::optional<Played> under_cap(const Played& free, double cap_w) const;
  std::optional<Played> capped(const Played& free, const std::vector<Played>& best) const;
  bool keeps_all_but(size_t limit, const Played& played) const;
  void sort(std::vector<Played>& played) const;
  int64_t keep_top(std::vector<Played>& best) const;
  bool add_surer(std::vector<Played>& best) const;

  const Space& space_;
  const SearchOptions& options_;
  const Kept& kept_;
};

/// Those that the engine can play and that fit.
std::vector<Played> Player::play_all(std::span<const Found> found, bool with_physics) const {
  std::vector<std::optional<Played>> played(found.size());
  base::parallel_for(found.size(), options_.threads, [&](size_t i) {
    // Asked to stop, one is enough: the one estimated best.
    if (i > 0 && options_.stop != nullptr && *options_.stop) return;
    Played next{found[i], space_.job(found[i].candidate), {}};
    if (with_physics) {
      auto run = engine::simulate(next.job, {});
      if (!run) return;
      next.run = std::move(*run);
    } else {
      auto estimate = engine::estimate(next.job);
      if (!estimate) return;
      next.run.performance = estimate->performance;
      next.run.memory = estimate->memory;
    }
    if (next.run.memory.fits) played[i] = std::move(next);
  });
  std::vector<Played> all;
  for (auto& one : played)
    if (one) all.push_back(std::move(*one));
  return all;
}

double Player::value(const Played& played) const {
  return played_value(options_.objective, played);
}

/// Times of single candidates need it.
bool Player::needs_physics() const {
  return options_.needs_power() || options_.limits.any() ||
         !std::ranges::all_of(space_.bases(), [](const Space::Base& base) {
           return engine::is_nominal(base.megatron);
         });
}

bool Player::within_limits(const Played& played) const {
  const auto [step_s, gpu_w, gpu_c] = Limits::of(played.run);
  return options_.limits.allow(step_s, gpu_w, gpu_c);
}

/// Whether a run is beyond this limit and within the others.
bool Player::keeps_all_but(size_t limit, const Played& played) const {
  const std::array<double, kLimits> values = Limits::of(played.run);
  Limits others = options_.limits;
  others.most[limit] = 0;
  return values[limit] > options_.limits.most[limit] &&
         others.allow(values[0], values[1], values[2]);
}

void Player::sort(std::vector<Played>& played) const {
  std::ranges::sort(played, [&](const Played& a, const Played& b) {
    const double x = value(a), y = value(b);
    return x != y ? x < y : a.found.number < b.found.number;
  });
}

/// Beside a first that may not fit: what surely does. Whether there is any.
bool Player::add_surer(std::vector<Played>& best) const {
  if (best.empty() || !is_at_risk(best.front())) return false;
  std::vector<Found> surer = kept_.leaner();
  std::erase_if(surer, [&](const Found& it) {
    return std::ranges::any_of(best,
                               [&](const Played& had) { return had.found.number == it.number; });
  });
  const size_t before = best.size();
  for (Played& played : play_all(surer, needs_physics()))
    if (!is_at_risk(played) && within_limits(played)) best.push_back(std::move(played));
  return best.size() > before;
}

int64_t Player::keep_top(std::vector<Played>& best) const {
  sort(best);
  int64_t tied = options_.simplest ? put_simplest_first(space_, options_.objective, best) : 0;
  if (options_.simplest && add_surer(best)) {
    sort(best);
    tied = put_simplest_first(space_, options_.objective, best);
  }
  if (best.size() > options_.top) best.resize(options_.top);
  return tied;
}

/// Without limits. Where power is not asked for, times of all candidates first, and physics for the
/// best of them: at nominal conditions it moves all alike.
int64_t Player::play_best(std::vector<Played>& best) const {
  std::vector<Found> found = kept_.to_play();
  if (options_.simplest && !found.empty())
    for (const Found& simpler : simpler_ones(space_, options_, found.front()))
      if (std::ranges::none_of(found, [&](const Found& it) { return it.number == simpler.number; }))
        found.push_back(simpler);
  const bool physics = needs_physics();
  best = play_all(found, physics);
  const int64_t tied = keep_top(best);
  if (physics || best.empty()) return tied;
  std::vector<Found> found_best;
  std::vector<int64_t> alike;
  for (const Played& played : best) {
    found_best.push_back(played.found);
    alike.push_back(played.alike);
  }
  best = play_all(found_best, true);
  for (Played& played : best)
    for (size_t i = 0; i < found_best.size(); ++i)
      if (found_best[i].number == played.found.number) played.alike = alike[i];
  sort(best);
  if (!options_.simplest) return tied;
  const auto first = std::ranges::find_if(
      best, [&](const Played& played) { return played.found.number == found_best.front().number; });
  if (first != best.end()) std::rotate(best.begin(), first, first + 1);
  return tied;
}

/// In the order of their estimates, until enough of those played are within the limits and what is
/// left is estimated to be worse.
int64_t Player::play_limited(std::vector<Played>& best) const {
  const std::vector<Found> found = kept_.to_play();
  const size_t together = 2 * options_.top;
  for (size_t from = 0; from < found.size(); from += together) {
    if (best.size() >= options_.top) {
      sort(best);
      double worst = 0;
      for (const Played& played : std::span(best).first(options_.top))
        worst = std::max(worst, value_of(options_.objective, played.found));
      if (value_of(options_.objective, found[from]) > worst * (1 + kPlayedMargin)) break;
    }
    if (options_.stop != nullptr && *options_.stop && !best.empty()) break;
    const size_t count = std::min(together, found.size() - from);
    for (Played& played : play_all(std::span(found).subspan(from, count), true))
      if (within_limits(played)) best.push_back(std::move(played));
  }
  return keep_top(best);
}

/// A layout under a power cap, on the engine.
std::optional<Played> Player::under_cap(const Played& free, double cap_w) const {
  Played held{free.found, free.job, {}};
  held.job.conditions.power_cap_w = cap_w;
  auto run = engine::simulate(held.job, {});
  if (!run) return {};
  held.run = std::move(*run);
  return held;
}

/// Under the highest cap that keeps all limits, by halving: a lower cap draws less and is cooler.
std::optional<Played> Player::capped(const Played& free, const std::vector<Played>& best) const {
  constexpr double kStepW = 10;
  const auto gpu = physics::gpu_power(free.job.cluster.node.gpu);
  if (!gpu) return {};
  const double own_w = free.job.conditions.power_cap_w;
  const double full_w = own_w > 0 ? own_w : gpu->cap_w;
  // In steps; the limits are not kept at `high`, and are at `low`.
  auto low = static_cast<int64_t>(std::ceil(gpu->lowest_cap_w / kStepW));
  auto high = static_cast<int64_t>(std::ceil(full_w / kStepW));
  std::optional<Played> found;
  const auto keeps = [&](int64_t steps) {
    auto held = under_cap(free, kStepW * static_cast<double>(steps));
    const bool kept = held && within_limits(*held);
    if (kept) found = std::move(held);
    return kept;
  };
  if (low >= high || !keeps(low)) return {};
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (keeps(middle) ? low : high) = middle;
  }
  const bool better = best.empty() || value(*found) < value(best.front());
  return better ? found : std::nullopt;
}

std::vector<LimitAnswer> Player::limits(const std::vector<Played>& best) const {
  std::vector<LimitAnswer> answers;
  for (size_t i = 0; i < kLimits; ++i) {
    if (options_.limits.most[i] <= 0) continue;
    LimitAnswer answer{i, {}, {}};
    if (const Found* found = kept_.without(i)) {
      std::vector<Played> played = play_all(std::span(found, 1), true);
      // Better only because it does not keep to this limit, and keeps to the others.
      if (!played.empty() && keeps_all_but(i, played.front()) &&
          (best.empty() || value(played.front()) < value(best.front())))
        answer.without = std::move(played.front());
      if (i != kSeconds && answer.without) answer.capped = capped(*answer.without, best);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace

double played_value(Objective objective, const Played& played) {
  Found as_played = played.found;
  as_played.estimate.step_s = played.run.performance.step_time_s;
  if (played.run.has_power) as_played.estimate.energy_j = played.run.power.energy_j_per_step;
  as_played.estimate.memory_bytes = played.run.memory.peak_bytes;
  return value_of(objective, as_played);
}

void play(const Space& space, const SearchOptions& options, const Kept& kept,
          SearchResult& result) {
  const Player player(space, options, kept);
  if (!options.limits.any()) {
    result.tied = player.play_best(result.best);
    return;
  }
  result.tied = player.play_limited(result.best);
  result.limits = player.limits(result.best);
}

}  // namespace ergometer::search
