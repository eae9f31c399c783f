#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <mutex>

#include "base/parallel.h"
#include "engine/powered.h"
#include "search/play.h"
#include "search/worker.h"

namespace ergometer::search {
namespace {

constexpr size_t kLayoutsAtATime = 8;

bool is_of_power(Objective objective) {
  return objective == Objective::kEnergy || objective == Objective::kEnergyDelay ||
         objective == Objective::kTokensPerJoule;
}

/// An error: the answer needs watts that the catalog does not know.
base::Result<void> check_power(const Space& space, const SearchOptions& options) {
  const bool front = std::any_of(options.pareto.begin(), options.pareto.end(), is_of_power);
  if (!front && !options.needs_power()) return {};
  for (const Space::Base& base : space.bases())
    if (base.megatron.conditions.constant_clocks || !engine::has_power_data(base.megatron))
      return base::input_error(fmt::format(
          "search: {} of {}: the catalog does not know enough of its power and cooling for "
          "objectives and limits of energy, power and temperature",
          base.megatron.cluster.node.gpu.name, base.megatron.cluster.name));
  return {};
}

/// Processor time of the calling thread: what others run on the machine does not count.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kNano = 1e-9;
  return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

/// Estimates of all layouts, `threads` at a time.
void estimate_all(const Space& space, const SearchOptions& options,
                  const std::vector<Layout>& layouts, SearchResult& result, Kept& kept) {
  std::atomic<size_t> next = 0, done = 0;
  std::mutex mutex;
  const auto work = [&](size_t) {
    const double start_s = processor_s();
    Worker worker(space, options);
    for (size_t from = next.fetch_add(kLayoutsAtATime); from < layouts.size();
         from = next.fetch_add(kLayoutsAtATime)) {
      if (options.stop != nullptr && *options.stop) break;
      const size_t to = std::min(layouts.size(), from + kLayoutsAtATime);
      for (size_t i = from; i < to; ++i) worker.visit(layouts[i], static_cast<int64_t>(i));
      done += to - from;
      if (options.progress) options.progress(done, layouts.size());
    }
    const std::scoped_lock lock(mutex);
    result.candidates += worker.candidates;
    result.feasible += worker.feasible;
    result.estimated += worker.estimated;
    result.estimate_s += processor_s() - start_s;
    if (result.unpriced.empty()) result.unpriced = worker.unpriced;
    kept.merge(worker.kept);
  };
  const size_t threads = std::max<size_t>(1, options.threads);
  base::parallel_for(threads, threads, work);
  result.complete = done == layouts.size();
}

}  // namespace

bool Limits::any() const {
  return std::any_of(most.begin(), most.end(), [](double limit) { return limit > 0; });
}

bool Limits::allow(double step_s, double gpu_w, double gpu_c) const {
  const std::array<double, kLimits> values = {step_s, gpu_w, gpu_c};
  for (size_t i = 0; i < kLimits; ++i)
    if (most[i] > 0 && values[i] > most[i]) return false;
  return true;
}

std::array<double, kLimits> Limits::of(const run::Run& run) {
  return {run.performance.step_time_s, run.power.mean_w_per_gpu, run.thermal.max_gpu_c};
}

bool SearchOptions::needs_power() const { return limits.any() || is_of_power(objective); }

base::Result<SearchResult> search(const Space& space, const SearchOptions& options) {
  ERGOMETER_TRY(check_power(space, options));
  std::vector<Layout> layouts;
  int64_t number = 0;
  space.for_each_layout([&](const Layout& layout) {
    if (number++ % options.shards == options.shard) layouts.push_back(layout);
  });
  SearchResult result;
  result.layouts = static_cast<int64_t>(layouts.size());
  Kept kept(options);
  estimate_all(space, options, layouts, result, kept);
  if (result.candidates > 0 && result.feasible == 0 && !result.unpriced.empty())
    return base::input_error(result.unpriced);
  if (options.play) play(space, options, kept, result);
  if (!options.play)
    for (const Found& found : kept.to_play()) result.best.push_back({found, {}, {}});
  result.front = kept.front();
  std::sort(result.front.begin(), result.front.end(), [&](const Found& a, const Found& b) {
    const Objective first = options.pareto.empty() ? Objective::kTime : options.pareto.front();
    const double x = value_of(first, a), y = value_of(first, b);
    return x != y ? x < y : a.number < b.number;
  });
  return result;
}

}  // namespace ergometer::search
