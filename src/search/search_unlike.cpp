#include "search/search_unlike.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "engine/prepared.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "plan/stages.h"
#include "search/kept.h"
#include "search/play.h"
#include "search/simplest.h"
#include "search/space/axes.h"
#include "search/unlike/placements.h"
#include "search/unlike/stage_layers.h"
#include "spec/job/node_groups.h"

namespace ergometer::search {
namespace {

/// Layouts whose settings are turned one by one.
constexpr size_t kTurned = 8;
/// Layers that are moved at most, one at a time.
constexpr int kMoves = 4;

struct Tried {
  Found found;
  bool fits = false;
  std::string unpriced;
};

class UnlikeSearch {
 public:
  UnlikeSearch(const Space& space, const SearchOptions& options)
      : space_(space), options_(options), kept_(space, options) {}

  Result<SearchResult> run();

 private:
  std::vector<Layout> layouts(bool context) const;
  std::vector<Candidate> placed(const Layout& layout, LegalityCheck& legal) const;
  std::optional<Candidate> first_that_fits(const Candidate& placed, const Options& options) const;
  bool divides(Candidate& candidate) const;
  Estimate played(const spec::Job& job, bool& fits, std::string& unpriced) const;
  std::vector<Tried> play_all(const std::vector<Candidate>& candidates);
  Tried best_of(Tried best, std::vector<Candidate> turned);
  std::vector<Candidate> moved_layers(const Candidate& candidate) const;
  void turn(Tried best);
  double value(const Tried& tried) const { return value_of(options_.objective, tried.found); }
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  const Space& space_;
  const SearchOptions& options_;
  Kept kept_;
  SearchResult result_;
  std::string unpriced_;
};

/// Whether replicas have unlike numbers of micro batches: as many for all is what no one need ask
/// for. A group without replicas of its own has none.
bool has_unlike_batches(const spec::Job& job) {
  int64_t most = 0;
  bool unlike = false;
  for (const int64_t batches : job.parallelism.group_micro_batches) {
    if (batches == 0) continue;
    unlike |= most > 0 && batches != most;
    most = std::max(most, batches);
  }
  return unlike;
}

std::vector<Layout> UnlikeSearch::layouts(bool context) const {
  std::vector<Layout> all;
  LegalityCheck legal(space_);
  space_.for_each_layout([&](const Layout& layout) {
    const bool plain = (layout.vpp == 1 || space_.gives(kVpp)) &&
                       (layout.schedule == spec::Schedule::kOneFOneB || space_.gives(kSchedule)) &&
                       (layout.sequence_parallel == (layout.tp > 1) || space_.gives(kSp)) &&
                       layout.split == legal.splits(layout).front();
    if (plain && (layout.cp > 1 && !space_.gives(kCp)) == context) all.push_back(layout);
    return !stopped();
  });
  return all;
}

/// A layout on every placement that is legal, by speed what may be.
std::vector<Candidate> UnlikeSearch::placed(const Layout& layout, LegalityCheck& legal) const {
  Candidate plain;
  plain.layout = layout;
  plain.data.sharding = Sharding::kZero0;
  std::vector<std::vector<int64_t>> placements = {{}};
  if (!space_.gives(spec::kRankMap)) placements = placements_of(space_.job(plain));
  const auto may_be = [&](const Candidate& candidate) {
    const bool asks = static_cast<bool>(space_.asked_options().refuses);
    return legal(candidate) && !(asks && !legal.refused(candidate).empty());
  };
  std::vector<Candidate> all;
  for (std::vector<int64_t>& map : placements) {
    Candidate candidate = plain;
    candidate.unlike.rank_map = std::move(map);
    if (!may_be(candidate)) continue;
    candidate.unlike.batches_by_speed = true;
    candidate.unlike.batches_by_speed =
        has_unlike_batches(space_.job(candidate)) && may_be(candidate);
    all.push_back(std::move(candidate));
  }
  return all;
}

/// Gives the stages layers by speed and memory; false: they do not fit, whatever is given.
bool UnlikeSearch::divides(Candidate& candidate) const {
  const spec::Job job = space_.job(candidate);
  const bool by_speed = spec::is_mixed(job.cluster) && job.parallelism.pp > 1 &&
                        job.parallelism.vpp == 1 && !space_.splits_are_given();
  if (by_speed) {
    auto layers = layers_by_speed_and_memory(job);
    if (!layers || layers->empty()) return false;
    candidate.unlike.stage_layers = std::move(*layers);
    return true;
  }
  const workload::Workload workload = workload::lower(job);
  return plan::memory(job, workload, plan::divide(job, workload)).fits;
}

/// With the first recomputation, of those that cost little before those that cost much, that fits.
std::optional<Candidate> UnlikeSearch::first_that_fits(const Candidate& placed,
                                                       const Options& options) const {
  const auto sharding = std::ranges::find_if(options.data, [](const DataOption& data) {
    return data == DataOption{Sharding::kZero1, true, true};
  });
  for (const Recomputation& recomputation : options.recomputations) {
    if (recomputation.depth > 0) continue;
    Candidate candidate = placed;
    candidate.recomputation = recomputation;
    candidate.overlap = options.overlaps.front();
    candidate.data = sharding != options.data.end() ? *sharding : options.data.back();
    if (candidate.unlike.batches_by_speed && candidate.data.sharding > Sharding::kZero1)
      candidate.data = options.data.front();
    if (divides(candidate)) return candidate;
  }
  return std::nullopt;
}

Estimate UnlikeSearch::played(const spec::Job& job, bool& fits, std::string& unpriced) const {
  Estimate estimate;
  if (options_.needs_power()) {
    const auto run = engine::simulate(job, {.kernels = false, .intervals = false});
    if (!run) unpriced = run.error().message;
    if (!run) return estimate;
    fits = run->memory.fits;
    estimate.step_s = run->performance.step_time_s;
    estimate.memory_bytes = run->memory.peak_bytes;
    estimate.energy_j = run->has_power ? run->power.energy_j_per_step : 0;
    estimate.gpu_w = run->power.mean_w_per_gpu;
    estimate.max_gpu_c = run->thermal.max_gpu_c;
    return estimate;
  }
  const auto told = engine::estimate(job);
  if (!told) unpriced = told.error().message;
  if (!told) return estimate;
  fits = told->memory.fits;
  estimate.step_s = told->performance.step_time_s;
  estimate.memory_bytes = told->memory.peak_bytes;
  return estimate;
}

/// Plays candidates, each once, and keeps those that fit.
std::vector<Tried> UnlikeSearch::play_all(const std::vector<Candidate>& candidates) {
  std::vector<Tried> all(candidates.size());
  base::parallel_for(all.size(), options_.threads, [&](size_t i) {
    if (stopped()) return;
    const spec::Job job = space_.job(candidates[i]);
    all[i].found = {candidates[i], {}, job.gpus, result_.candidates + static_cast<int64_t>(i)};
    all[i].found.estimate = played(job, all[i].fits, all[i].unpriced);
  });
  result_.candidates += std::ssize(all);
  std::vector<Tried> fitting;
  for (Tried& tried : all) {
    if (unpriced_.empty()) unpriced_ = tried.unpriced;
    if (!tried.fits) continue;
    kept_.offer(tried.found);
    fitting.push_back(std::move(tried));
  }
  result_.feasible += std::ssize(fitting);
  return fitting;
}

/// The best of a candidate and of its neighbours that are legal.
Tried UnlikeSearch::best_of(Tried best, std::vector<Candidate> turned) {
  LegalityCheck legal(space_);
  std::erase_if(turned, [&](const Candidate& candidate) {
    return candidate == best.found.candidate || !legal(candidate);
  });
  for (Tried& tried : play_all(turned))
    if (value(tried) < value(best)) best = std::move(tried);
  return best;
}

/// A layer less on one stage, one more on another.
std::vector<Candidate> UnlikeSearch::moved_layers(const Candidate& candidate) const {
  const std::vector<int64_t>& layers = candidate.unlike.stage_layers;
  std::vector<Candidate> moved;
  const spec::Job job = space_.job(candidate);
  std::vector<std::vector<size_t>> kinds;
  for (int64_t stage = 0; stage < std::ssize(layers); ++stage)
    kinds.push_back(spec::groups_of_stage(job, stage));
  // Of stages that lie on the same kinds and have as many layers, the first stands for all but the
  // ends of the pipeline, which have the embedding and the head besides.
  const auto stands = [&](size_t stage) {
    for (size_t other = 1; other < stage && stage + 1 < layers.size(); ++other)
      if (kinds[other] == kinds[stage] && layers[other] == layers[stage]) return false;
    return true;
  };
  for (size_t from = 0; from < layers.size(); ++from)
    for (size_t to = 0; to < layers.size(); ++to) {
      if (from == to || layers[from] == 1 || !stands(from) || !stands(to)) continue;
      Candidate next = candidate;
      --next.unlike.stage_layers[from];
      ++next.unlike.stage_layers[to];
      moved.push_back(std::move(next));
    }
  return moved;
}

/// Turns one setting of a candidate after the other, as long as it gets better.
void UnlikeSearch::turn(Tried best) {
  LegalityCheck legal(space_);
  const Options options = space_.options(best.found.candidate.layout, legal);
  std::vector<Candidate> turned;
  for (const Recomputation& recomputation : options.recomputations) {
    Candidate next = best.found.candidate;
    next.recomputation = recomputation;
    if (divides(next)) turned.push_back(std::move(next));
  }
  best = best_of(std::move(best), std::exchange(turned, {}));
  for (const DataOption& data : options.data) {
    turned.push_back(best.found.candidate);
    turned.back().data = data;
  }
  best = best_of(std::move(best), std::exchange(turned, {}));
  for (const Overlap& overlap : options.overlaps) {
    turned.push_back(best.found.candidate);
    turned.back().overlap = overlap;
  }
  best = best_of(std::move(best), std::exchange(turned, {}));
  for (int move = 0; move < kMoves; ++move) {
    const double before = value(best);
    turned = moved_layers(best.found.candidate);
    best = best_of(std::move(best), std::exchange(turned, {}));
    if (!(value(best) < before)) return;
  }
}

Result<SearchResult> UnlikeSearch::run() {
  std::vector<Tried> fitting;
  for (const bool context : {false, true}) {
    if (!fitting.empty()) break;
    std::vector<Candidate> all;
    for (const Layout& layout : layouts(context)) {
      ++result_.layouts;
      LegalityCheck legal(space_);
      for (Candidate& candidate : placed(layout, legal)) all.push_back(std::move(candidate));
    }
    std::vector<std::optional<Candidate>> first(all.size());
    base::parallel_for(all.size(), options_.threads, [&](size_t i) {
      LegalityCheck legal(space_);
      const Options options = space_.options(all[i].layout, legal);
      if (options.candidates() > 0 && !stopped()) first[i] = first_that_fits(all[i], options);
    });
    std::vector<Candidate> candidates;
    for (std::optional<Candidate>& candidate : first)
      if (candidate) candidates.push_back(std::move(*candidate));
    fitting = play_all(candidates);
  }
  if (fitting.empty() && !unpriced_.empty()) return input_error(unpriced_);
  std::ranges::stable_sort(fitting, {}, [&](const Tried& tried) { return value(tried); });
  if (fitting.size() > kTurned) fitting.resize(kTurned);
  for (Tried& tried : fitting) turn(std::move(tried));
  play(space_, options_, kept_, result_);
  result_.front = kept_.front();
  result_.complete = !stopped();
  return std::move(result_);
}

}  // namespace

Result<SearchResult> search_unlike(const Space& space, const SearchOptions& options) {
  SearchOptions plain = options;
  // Layers, placement and batches by speed are no features that one would do without.
  plain.simplest = false;
  ERGOMETER_ASSIGN(SearchResult result, UnlikeSearch(space, plain).run());
  if (options.simplest) put_sure_first(options.objective, result.best);
  return result;
}

}  // namespace ergometer::search
