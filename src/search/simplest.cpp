#include "search/simplest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "run/row_columns.h"
#include "search/worker.h"

namespace ergometer::search {
namespace {

constexpr double kAlwaysAlike = 0.005, kNeverAlike = kMargin;
/// Two sums of the same numbers in other orders.
constexpr double kEqual = 1e-9;

int64_t count(std::initializer_list<bool> switches) { return std::ranges::count(switches, true); }

bool near(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

bool is_of_time(Objective objective) {
  return objective == Objective::kTime || objective == Objective::kCost;
}

bool same_numbers(Objective objective, const Played& a, const Played& b) {
  return near(played_value(objective, a), played_value(objective, b), kEqual) &&
         near(a.run.performance.step_time_s, b.run.performance.step_time_s, kEqual) &&
         near(a.run.memory.peak_bytes, b.run.memory.peak_bytes, kEqual);
}

/// Neighbours of equal numbers become one.
void merge_alike(const Space& space, Objective objective, std::vector<Played>& played) {
  std::vector<Played> merged;
  for (Played& next : played) {
    if (merged.empty() || !same_numbers(objective, merged.back(), next)) {
      merged.push_back(std::move(next));
      continue;
    }
    const int64_t alike = merged.back().alike + 1 + next.alike;
    const bool simpler =
        features(space, next.found.candidate) < features(space, merged.back().found.candidate);
    if (simpler) merged.back() = std::move(next);
    merged.back().alike = alike;
  }
  played = std::move(merged);
}

bool is_tied(Objective objective, const Played& best, const Played& other) {
  if (best.found.gpus == other.found.gpus && is_of_time(objective))
    return cannot_tell(best.run.performance, other.run.performance);
  return near(played_value(objective, other), played_value(objective, best), kAlwaysAlike);
}

struct Chosen {
  size_t index = 0;
  int64_t tied = 0;
};

/// Of those that cannot be told from the one at `best`, and are not before it, the one to be first.
Chosen choose_beside(const Space& space, Objective objective, const std::vector<Played>& played,
                     size_t best) {
  // Smaller is simpler; of equals the better, which stands before.
  const auto key = [&](const Played& it) {
    return std::tuple(is_at_risk(it), features(space, it.found.candidate));
  };
  Chosen chosen{best, 0};
  for (size_t i = best; i < played.size(); ++i) {
    if (!is_tied(objective, played[best], played[i])) continue;
    ++chosen.tied;
    if (key(played[i]) < key(played[chosen.index])) chosen.index = i;
  }
  return chosen;
}

/// The best that surely fits, if being sure is worth what it costs.
std::optional<size_t> best_sure(Objective objective, const std::vector<Played>& played) {
  const double most = played_value(objective, played.front());
  for (size_t i = 0; i < played.size(); ++i)
    if (!is_at_risk(played[i]) &&
        played_value(objective, played[i]) - most <= kWorthSurety * std::abs(most))
      return i;
  return {};
}

/// Every candidate of a layout that is estimated to fit, and what estimates it.
template <class Visit>
void for_each_of_layout(const Space& space, const Found& of, const Visit& visit) {
  const Layout& layout = of.candidate.layout;
  LegalityCheck legal(space);
  Estimator estimator(space);
  if (!estimator.set_layout(layout)) return;
  const Options choices = space.options(layout, legal);
  int64_t number = of.number / kOptionsOfALayout * kOptionsOfALayout;
  for (const Overlap& overlap : choices.overlaps)
    for (const Recomputation& recomputation : choices.recomputations) {
      const PassVariant variant{overlap, recomputation};
      bool passes = false;
      for (const DataOption& data : choices.data) {
        const Found found{{layout, recomputation, overlap, data}, {}, of.gpus, number++};
        if (!estimator.fits(overlap, recomputation, data)) continue;
        visit(found, [&] {
          if (!passes) estimator.set_passes(std::span(&variant, 1));
          passes = true;
          return estimator.estimate(0, data);
        });
      }
    }
}

}  // namespace

int64_t features(const Space& space, const Candidate& candidate) {
  const auto& [layout, recomputation, overlap, data, unlike] = candidate;
  const RecomputeChoice& choice = space.recomputations()[static_cast<size_t>(recomputation.choice)];
  int64_t recomputes = static_cast<int64_t>(choice.modules.size());
  if (choice.granularity == spec::Recompute::kFull) recomputes = choice.block ? 2 : 1;
  // Megatron-LM and NeMo shard more than the optimizer by a program of its own.
  constexpr std::array<int64_t, kShardings> kSharded = {0, 0, 2, 4, 2};
  return recomputes + kSharded[static_cast<size_t>(data.sharding)] +
         count({layout.tp > 1, layout.cp > 1, layout.pp > 1, layout.vpp > 1, layout.ep > 1,
                layout.split != Split::kGiven, layout.schedule == spec::Schedule::kGpipe,
                layout.schedule == spec::Schedule::kZbH1, data.overlap_gradients,
                data.overlap_parameters, overlap.tensor, overlap.pipeline, overlap.expert,
                overlap.shared_expert});
}

bool cannot_tell(const run::Performance& a, const run::Performance& b) {
  double squares = 0;
  run::kBreakdownColumns.for_each([&](std::string_view, auto part) {
    const double change = a.breakdown_s.*part - b.breakdown_s.*part;
    squares += change * change;
  });
  const double step_s = a.step_time_s;
  const double half = (a.step_time_s_high - a.step_time_s_low) / (2 * step_s);
  const double apart_s = std::abs(step_s - b.step_time_s);
  return apart_s <=
         std::clamp(half * std::sqrt(squares), kAlwaysAlike * step_s, kNeverAlike * step_s);
}

bool is_at_risk(const Played& played) {
  return run::fit_state(played.run.memory.fit_probability) != run::FitState::kFits;
}

int64_t put_simplest_first(const Space& space, Objective objective, std::vector<Played>& played) {
  if (played.empty()) return 0;
  merge_alike(space, objective, played);
  if (objective == Objective::kMemory) return 1;
  Chosen chosen = choose_beside(space, objective, played, 0);
  if (is_at_risk(played[chosen.index]))
    if (const auto surer = best_sure(objective, played))
      chosen = choose_beside(space, objective, played, *surer);
  const auto at = played.begin() + static_cast<std::ptrdiff_t>(chosen.index);
  std::rotate(played.begin(), at, at + 1);
  return chosen.tied;
}

void put_sure_first(Objective objective, std::vector<Played>& played) {
  if (played.empty() || objective == Objective::kMemory || !is_at_risk(played.front())) return;
  const auto surer = best_sure(objective, played);
  if (!surer) return;
  const auto at = played.begin() + static_cast<std::ptrdiff_t>(*surer);
  std::rotate(played.begin(), at, at + 1);
}

std::vector<Found> simpler_ones(const Space& space, const SearchOptions& options,
                                const Found& best) {
  constexpr size_t kMost = 16;
  const int64_t most = features(space, best.candidate);
  const double worst = value_of(options.objective, best) * (1 + kNeverAlike);
  std::vector<Found> simpler;
  for_each_of_layout(space, best, [&](const Found& found, const auto& estimate) {
    if (features(space, found.candidate) >= most) return;
    Found next = found;
    next.estimate = estimate();
    if (value_of(options.objective, next) <= worst) simpler.push_back(next);
  });
  std::ranges::stable_sort(simpler, [&](const Found& a, const Found& b) {
    return features(space, a.candidate) < features(space, b.candidate);
  });
  if (simpler.size() > kMost) simpler.resize(kMost);
  return simpler;
}

}  // namespace ergometer::search
