#include "search/kept.h"

#include <algorithm>
#include <array>

namespace ergometer::search {
namespace {

/// Candidates that are kept at most, for each one asked for.
constexpr size_t kPlayedForEach = 4, kPlayedAtLeast = 32;
/// Estimates of time, power and temperature are this far from the engine's at most, mostly much
/// nearer: each share of a limit has its own best, so that those that miss it narrowly leave room
/// for those that keep it narrowly.
constexpr std::array kSharesOfLimit = {1.1, 1.05, 1.02, 1.0, 0.98, 0.95, 0.9};

Limits scaled(const Limits& limits, double factor) {
  Limits result = limits;
  for (double& limit : result.most) limit *= factor;
  return result;
}

}  // namespace

Kept::Kept(const SearchOptions& options)
    : objective_(options.objective),
      needs_power_(options.needs_power()),
      worst_(options.worst),
      limits_(options.limits),
      front_(options.pareto) {
  const auto pool = [&](size_t most, double margin, size_t in_all, const Limits& limits) {
    pools_.push_back({Best(objective_, most, margin, in_all), limits});
  };
  const size_t top = options.top, limit = std::max(kPlayedForEach * top, kPlayedAtLeast);
  if (!limits_.any()) {
    pool(top, kPlayedMargin, limit, {});
    return;
  }
  for (const double share : kSharesOfLimit) pool(top, kPlayedMargin, limit, scaled(limits_, share));
  for (size_t i = 0; i < kLimits; ++i) {
    Limits others = limits_;
    others.most[i] = 0;
    pool(1, 0, 1, others);
  }
}

void Kept::offer(const Found& found) {
  const Estimate& e = found.estimate;
  if ((needs_power_ && e.energy_j <= 0) || value_of(objective_, found) > worst_) return;
  for (Pool& pool : pools_)
    if (pool.limits.allow(e.step_s, e.gpu_w, e.max_gpu_c)) pool.best.offer(found);
  if (!front_.empty() && limits_.allow(e.step_s, e.gpu_w, e.max_gpu_c)) front_.offer(found);
}

bool Kept::hopeless(const Found& least) const {
  const double value = value_of(objective_, least);
  const auto too_slow = [&](const Limits& limits) {
    return !limits.allow(least.estimate.step_s, 0, 0);
  };
  for (const Pool& pool : pools_)
    if (!too_slow(pool.limits) && value <= std::min(worst_, pool.best.threshold())) return false;
  return front_.empty() || too_slow(limits_) || front_.beats(least);
}

/// Of the pools and of `more`, each once, in the order of their numbers.
std::vector<Found> Kept::with_pools(std::vector<Found> more) const {
  for (const Pool& pool : pools_)
    more.insert(more.end(), pool.best.found().begin(), pool.best.found().end());
  std::ranges::sort(more, {}, &Found::number);
  const auto same = [](const Found& a, const Found& b) { return a.number == b.number; };
  more.erase(std::unique(more.begin(), more.end(), same), more.end());
  return more;
}

std::vector<Found> Kept::all() const { return with_pools(front_.found()); }

std::vector<Found> Kept::to_play() const {
  std::vector<Found> all = with_pools({});
  std::ranges::sort(all, [&](const Found& a, const Found& b) {
    const double x = value_of(objective_, a), y = value_of(objective_, b);
    return x != y ? x < y : a.number < b.number;
  });
  return all;
}

const Found* Kept::without(size_t limit) const {
  const std::vector<Found>& found = pools_[pools_.size() - kLimits + limit].best.found();
  return found.empty() ? nullptr : &found.front();
}

}  // namespace ergometer::search
