#include "search/kept.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ergometer::search {
namespace {

/// Candidates that are kept at most, for each one asked for.
constexpr size_t kPlayedForEach = 4, kPlayedAtLeast = 32;
/// Estimates of time, power and temperature are this far from the engine's at most, mostly much
/// nearer: each share of a limit has its own best, so that those that miss it narrowly leave room
/// for those that keep it narrowly.
constexpr std::array kSharesOfLimit = {1.1, 1.05, 1.02, 1.0, 0.98, 0.95, 0.9, 0.85, 0.8};
/// Of each share at least, however few are asked for: the engine may find all of fewer too warm.
constexpr size_t kOfAShareAtLeast = 10;

/// Of a GPU's memory, what a candidate's tensors may take at most: what else the allocator
/// reserves, and how sure the answer is, differs by software and by how much of it activations are.
constexpr std::array kLeanShares = {0.95, 0.9, 0.85, 0.8, 0.7};
constexpr size_t kLeanOfAShare = 4;

Limits scaled(const Limits& limits, double factor) {
  Limits result = limits;
  for (double& limit : result.most) limit *= factor;
  return result;
}

/// In the order of their numbers.
std::vector<Found> each_once(std::vector<Found> found) {
  std::ranges::sort(found, {}, &Found::number);
  const auto same = [](const Found& a, const Found& b) { return a.number == b.number; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

}  // namespace

Kept::Kept(const Space& space, const SearchOptions& options)
    : objective_(options.objective),
      needs_power_(options.needs_power()),
      worst_(options.worst),
      limits_(options.limits),
      front_(options.pareto) {
  const auto pool = [&](size_t most, double margin, size_t in_all, const Limits& limits) {
    pools_.push_back({Best(objective_, most, margin, in_all), limits});
  };
  const size_t top = options.top, limit = std::max(kPlayedForEach * top, kPlayedAtLeast);
  if (options.simplest && objective_ != Objective::kMemory)
    for (const double share : kLeanShares)
      lean_.push_back({Best(objective_, kLeanOfAShare, 0, kLeanOfAShare), limits_,
                       share * space.bases().front().megatron.cluster.node.gpu.memory_bytes});
  if (!limits_.any()) {
    pool(top, kPlayedMargin, limit, {});
    return;
  }
  for (const double share : kSharesOfLimit)
    pool(std::max(top, kOfAShareAtLeast), kPlayedMargin, limit, scaled(limits_, share));
  for (size_t i = 0; i < kLimits; ++i) {
    Limits others = limits_;
    others.most[i] = 0;
    pool(1, 0, 1, others);
  }
}

void Kept::offer(const Found& found) {
  const Estimate& e = found.estimate;
  if ((needs_power_ && e.energy_j <= 0) || value_of(objective_, found) > worst_) return;
  for (std::vector<Pool>* pools : {&pools_, &lean_})
    for (Pool& pool : *pools)
      if (pool.limits.allow(e.step_s, e.gpu_w, e.max_gpu_c) && e.memory_bytes <= pool.most_bytes)
        pool.best.offer(found);
  if (!front_.empty() && limits_.allow(e.step_s, e.gpu_w, e.max_gpu_c)) front_.offer(found);
}

bool Kept::hopeless(const Found& least) const {
  const double value = value_of(objective_, least);
  const auto too_slow = [&](const Limits& limits) {
    return !limits.allow(least.estimate.step_s, 0, 0);
  };
  for (const Pool& pool : pools_)
    if (!too_slow(pool.limits) && value <= std::min(worst_, pool.best.threshold())) return false;
  const double worth = std::min(worst_, worth_surety());
  for (const Pool& pool : lean_)
    if (!too_slow(pool.limits) && value <= std::min(worth, pool.best.threshold())) return false;
  return front_.empty() || too_slow(limits_) || front_.beats(least);
}

/// The estimate above which one that surely fits is not worth it: both estimates may be off.
double Kept::worth_surety() const {
  const Pool& strictest = pools_[limits_.any() ? kSharesOfLimit.size() - 1 : 0];
  if (strictest.best.found().empty()) return std::numeric_limits<double>::infinity();
  const double best = value_of(objective_, strictest.best.found().front());
  return best + (kWorthSurety + 2 * kMargin) * std::abs(best);
}

/// Of the pools and of `more`.
std::vector<Found> Kept::with_pools(std::vector<Found> more) const {
  for (const Pool& pool : pools_)
    more.insert(more.end(), pool.best.found().begin(), pool.best.found().end());
  return each_once(std::move(more));
}

std::vector<Found> Kept::sorted(std::vector<Found> found) const {
  std::ranges::sort(found, [&](const Found& a, const Found& b) {
    const double x = value_of(objective_, a), y = value_of(objective_, b);
    return x != y ? x < y : a.number < b.number;
  });
  return found;
}

std::vector<Found> Kept::worthy() const {
  std::vector<Found> lean;
  for (const Pool& pool : lean_)
    lean.insert(lean.end(), pool.best.found().begin(), pool.best.found().end());
  const double worth = worth_surety();
  std::erase_if(lean, [&](const Found& found) { return value_of(objective_, found) > worth; });
  return each_once(std::move(lean));
}

std::vector<Found> Kept::all() const {
  std::vector<Found> all = worthy();
  all.insert(all.end(), front_.found().begin(), front_.found().end());
  return with_pools(std::move(all));
}

std::vector<Found> Kept::to_play() const { return sorted(with_pools({})); }

std::vector<Found> Kept::leaner() const { return sorted(worthy()); }

const Found* Kept::without(size_t limit) const {
  const std::vector<Found>& found = pools_[pools_.size() - kLimits + limit].best.found();
  return found.empty() ? nullptr : &found.front();
}

}  // namespace ergometer::search
