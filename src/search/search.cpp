#include "search/search.h"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "base/parallel.h"
#include "engine/prepared.h"
#include "engine/simulate.h"

namespace ergometer::search {
namespace {

/// Estimates this close to the best ones are played too: nine in ten are within it
/// (docs/models/search.md).
constexpr double kMargin = 0.02;
/// Candidates that are played at most, for each one asked for.
constexpr size_t kPlayedForEach = 4;
constexpr size_t kLayoutsAtATime = 8;
constexpr int64_t kOptionsOfALayout = int64_t{1} << 32;

bool needs_power(const SearchOptions& options) {
  return options.max_power_w > 0 || options.max_gpu_c > 0 ||
         (options.objective != Objective::kTime && options.objective != Objective::kCost &&
          options.objective != Objective::kMemory);
}

bool within_limits(const SearchOptions& options, double step_s, double gpu_w, double gpu_c) {
  return (options.max_step_s <= 0 || step_s <= options.max_step_s) &&
         (options.max_power_w <= 0 || gpu_w <= options.max_power_w) &&
         (options.max_gpu_c <= 0 || gpu_c <= options.max_gpu_c);
}

/// What one thread found.
class Worker {
 public:
  Worker(const Space& space, const SearchOptions& options)
      : space_(space),
        options_(options),
        legal_(space),
        estimator_(space),
        best(options.objective, options.top, kMargin, kPlayedForEach * options.top),
        front(options.pareto) {}

  void visit(const Layout& layout, int64_t number) {
    const Options choices = space_.options(layout, legal_);
    candidates += choices.candidates();
    if (choices.candidates() == 0) return;
    if (const auto priced = estimator_.set_layout(layout); !priced) {
      unpriced = priced.error().message;
      return;
    }
    gpus_ = space_.base_of(layout).megatron.gpus;
    next_ = number * kOptionsOfALayout;
    for (const Overlap& overlap : choices.overlaps)
      for (size_t first = 0; first < choices.recomputations.size(); first += kLanes)
        visit_passes(
            overlap,
            std::span(choices.recomputations)
                .subspan(first, std::min<size_t>(kLanes, choices.recomputations.size() - first)),
            choices.data, layout);
  }

 private:
  const Space& space_;
  const SearchOptions& options_;
  LegalityCheck legal_;
  Estimator estimator_;
  int64_t gpus_ = 0, next_ = 0;

 public:
  Best best;
  Front front;
  int64_t candidates = 0, feasible = 0, estimated = 0;
  std::string unpriced;

 private:
  void visit_passes(const Overlap& overlap, std::span<const Recomputation> recomputations,
                    const std::vector<DataOption>& data, const Layout& layout) {
    estimator_.set_passes(overlap, recomputations);
    for (size_t i = 0; i < recomputations.size(); ++i)
      for (const DataOption& option : data) {
        const int64_t number = next_++;
        if (!estimator_.fits(i, option)) continue;
        ++feasible;
        if (options_.prune && hopeless(i, option)) continue;
        ++estimated;
        Found found{{layout, recomputations[i], overlap, option},
                    estimator_.estimate(i, option),
                    gpus_,
                    number};
        const Estimate& e = found.estimate;
        if (needs_power(options_) && e.energy_j <= 0) continue;
        if (!within_limits(options_, e.step_s, e.gpu_w, e.max_gpu_c)) continue;
        best.offer(found);
        if (!front.empty()) front.offer(found);
      }
  }

  /// Its kernels alone take longer than what is known to do better. Energy has no such bound here.
  bool hopeless(size_t i, const DataOption& option) const {
    const double least_s = estimator_.least_step_s(i, option);
    if (options_.max_step_s > 0 && least_s > options_.max_step_s) return true;
    if (!front.empty()) return false;
    const double gpus = static_cast<double>(gpus_);
    if (options_.objective == Objective::kTime) return least_s > best.threshold();
    if (options_.objective == Objective::kCost) return least_s * gpus > best.threshold();
    return false;
  }
};

/// Processor time of the calling thread: what others run on the machine does not count.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kNano = 1e-9;
  return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

/// Estimates of all layouts, `threads` at a time.
void estimate_all(const Space& space, const SearchOptions& options,
                  const std::vector<Layout>& layouts, SearchResult& result, Best& best,
                  Front& front) {
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
    for (const Found& found : worker.best.found()) best.offer(found);
    for (const Found& found : worker.front.found()) front.offer(found);
  };
  const size_t threads = std::max<size_t>(1, options.threads);
  base::parallel_for(threads, threads, work);
  result.complete = done == layouts.size();
}

double played_value(const SearchOptions& options, const Played& played) {
  Found as_played = played.found;
  as_played.estimate.step_s = played.run.performance.step_time_s;
  if (played.run.has_power) as_played.estimate.energy_j = played.run.power.energy_j_per_step;
  as_played.estimate.memory_bytes = played.run.memory.peak_bytes;
  return value_of(options.objective, as_played);
}

void sort_by_value(const SearchOptions& options, std::vector<Played>& played) {
  std::sort(played.begin(), played.end(), [&](const Played& a, const Played& b) {
    const double x = played_value(options, a), y = played_value(options, b);
    return x != y ? x < y : a.found.number < b.found.number;
  });
}

/// Times of all candidates by the engine; the best of them with everything else.
void play(const Space& space, const SearchOptions& options, const std::vector<Found>& found,
          SearchResult& result) {
  std::vector<std::optional<Played>> timed(found.size());
  base::parallel_for(found.size(), options.threads, [&](size_t i) {
    Played played{found[i], space.job(found[i].candidate), {}};
    if (needs_power(options)) {
      auto run = engine::simulate(played.job, {});
      if (!run) return;
      played.run = std::move(*run);
    } else {
      auto estimate = engine::estimate(played.job);
      if (!estimate) return;
      played.run.performance = estimate->performance;
      played.run.memory = estimate->memory;
    }
    timed[i] = std::move(played);
  });
  for (auto& played : timed)
    if (played) result.best.push_back(std::move(*played));
  sort_by_value(options, result.best);
  if (result.best.size() > options.top && !needs_power(options)) result.best.resize(options.top);
  base::parallel_for(result.best.size(), options.threads, [&](size_t i) {
    Played& played = result.best[i];
    if (played.run.has_power) return;
    if (auto run = engine::simulate(played.job, {})) played.run = std::move(*run);
  });
  std::erase_if(result.best, [&](const Played& played) {
    const run::Run& run = played.run;
    return !run.memory.fits || !within_limits(options, run.performance.step_time_s,
                                              run.has_power ? run.power.mean_w_per_gpu : 0,
                                              run.has_power ? run.thermal.max_gpu_c : 0);
  });
  sort_by_value(options, result.best);
  if (result.best.size() > options.top) result.best.resize(options.top);
}

}  // namespace

base::Result<SearchResult> search(const Space& space, const SearchOptions& options) {
  std::vector<Layout> layouts;
  int64_t number = 0;
  space.for_each_layout([&](const Layout& layout) {
    if (number++ % options.shards == options.shard) layouts.push_back(layout);
  });
  SearchResult result;
  result.layouts = static_cast<int64_t>(layouts.size());
  Best best(options.objective, options.top, kMargin, kPlayedForEach * options.top);
  Front front(options.pareto);
  estimate_all(space, options, layouts, result, best, front);
  if (result.candidates > 0 && result.feasible == 0 && !result.unpriced.empty())
    return base::input_error(result.unpriced);
  if (options.play) play(space, options, best.found(), result);
  if (!options.play)
    for (const Found& found : best.found()) result.best.push_back({found, {}, {}});
  result.front = front.found();
  std::sort(result.front.begin(), result.front.end(), [&](const Found& a, const Found& b) {
    const Objective first = options.pareto.empty() ? Objective::kTime : options.pareto.front();
    const double x = value_of(first, a), y = value_of(first, b);
    return x != y ? x < y : a.number < b.number;
  });
  return result;
}

}  // namespace ergometer::search
