#include "optimize/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/collection.h"
#include "optimize/caps.h"
#include "optimize/layers.h"
#include "optimize/placement.h"
#include "spec/job/node_groups.h"

namespace ergometer::optimize {
namespace {

constexpr size_t kSearchSeeds = 3, kFinalists = 5, kFrontierPoints = 8, kMovedSeeds = 4,
                 kRunnersUp = 3;
constexpr size_t kMostRounds = 24;
/// A step of the search counts when it gains this much, relative.
constexpr double kProgress = 1e-4;

/// The faults of a job's GPUs and nodes on others: the next node, the other half of the node.
spec::Job with_faults_moved(spec::Job job) {
  const int64_t nodes = job.nodes(), gpus = std::min(job.gpus, int64_t{job.cluster.node.gpus});
  for (spec::Override& o : job.conditions.overrides) {
    if (o.kind == spec::OverrideKind::kPowerCap || o.kind == spec::OverrideKind::kLockClock)
      continue;
    if (o.node >= 0) o.node = (o.node + 1) % nodes;
    if (o.gpu >= 0) o.gpu = (o.gpu + gpus / 2) % gpus;
  }
  return job;
}

bool has_faults(const spec::Job& job) {
  const auto& all = job.conditions.overrides;
  return std::ranges::any_of(all, [](const spec::Override& o) {
    return o.kind != spec::OverrideKind::kPowerCap && o.kind != spec::OverrideKind::kLockClock &&
           (o.node >= 0 || o.gpu >= 0);
  });
}

/// The search: from the unchanged job on, knob by knob, as long as something gains.
class Search {
 public:
  Search(const spec::Job& job, const Options& options, Optimized& result)
      : options_(options),
        result_(result),
        judge_(options, seeds_and_own(job, "optimize search", kSearchSeeds)) {}

  Result<void> run(const spec::Job& job) {
    ERGOMETER_ASSIGN(std::vector<Played> first, judge_.play_all({{"unchanged", job}}));
    best_ = std::move(first.front());
    unchanged_value_ = best_.value;
    add_row("", best_, true);
    for (const Knob knob :
         {Knob::kRecompute, Knob::kLayers, Knob::kPlacement, Knob::kCaps, Knob::kClocks}) {
      if (!base::contains(options_.knobs, knob)) continue;
      const Played before = best_;
      if (knob == Knob::kCaps) uncapped_ = before;
      ERGOMETER_TRY(turn(knob));
      if (best_.value < before.value) taken_.push_back(best_.candidate);
    }
    result_.plays = judge_.plays();
    return {};
  }

  /// What every knob came to, the last first, and behind them runners-up as far as there is room:
  /// where the last is too slow on other silicon, one without its knob may still do.
  std::vector<Candidate> finalists() && {
    std::ranges::reverse(taken_);
    std::ranges::reverse(runners_up_);
    for (Candidate& other : runners_up_)
      if (taken_.size() < kFinalists) taken_.push_back(std::move(other));
    return std::move(taken_);
  }

 private:
  Result<void> turn(Knob knob) {
    if (knob == Knob::kLayers) seen_.insert(layers_name(best_.candidate.job));
    for (size_t round = 0; round < kMostRounds; ++round) {
      ERGOMETER_ASSIGN(std::vector<Candidate> candidates, propose(knob, round));
      // What a layout or a placement is called says all of it: none is played twice.
      if (knob == Knob::kLayers || knob == Knob::kPlacement)
        std::erase_if(candidates, [&](const Candidate& c) { return !seen_.insert(c.name).second; });
      if (candidates.empty()) return {};
      if (options_.progress)
        options_.progress(fmt::format("{}, round {}: {} candidates", to_word(knob), round + 1,
                                      candidates.size()));
      ERGOMETER_ASSIGN(std::vector<Played> played, judge_.play_all(std::move(candidates)));
      if (knob == Knob::kClocks) fill_frontier(played);
      if (!take_best(knob, played)) return {};
      if (knob == Knob::kRecompute || knob == Knob::kClocks) return {};
    }
    return {};
  }

  Result<std::vector<Candidate>> propose(Knob knob, size_t round) {
    switch (knob) {
      case Knob::kRecompute: return propose_recomputation(best_.candidate.job);
      case Knob::kLayers: return propose_layers(best_, round == 0);
      case Knob::kPlacement: return propose_placement(best_, round == 0);
      case Knob::kCaps:
        return round < 3 ? propose_caps(best_, options_.objective) : std::vector<Candidate>{};
      case Knob::kClocks: return clock_candidates();
    }
    return std::vector<Candidate>{};
  }

  Result<std::vector<Candidate>> clock_candidates() {
    const spec::Job& job = best_.candidate.job;
    std::vector<ClockPoint> points;
    auto tables = pipeline_tables(job);
    auto frontier = tables ? pipeline_frontier(*tables) : tl::unexpected(tables.error());
    if (frontier) {
      result_.tables = *std::move(tables);
      result_.pipeline = *std::move(frontier);
      points = clock_points(result_.tables, result_.pipeline, job, kFrontierPoints);
    } else {
      result_.no_frontier = frontier.error().message;
    }
    for (const ClockPoint& point : points) result_.frontier.push_back({point, 0, 0});
    std::vector<Candidate> candidates = propose_clocks(best_, points);
    // Caps may have spent all the time that there was.
    if (uncapped_ && uncapped_->candidate.name != best_.candidate.name)
      for (Candidate& candidate : propose_clocks(*uncapped_, points)) {
        candidate.name += ", no caps";
        candidates.push_back(std::move(candidate));
      }
    // A lock makes no step shorter: then only the frontier is played, to be shown.
    if (options_.objective == Objective::kTime) candidates.resize(points.size());
    return candidates;
  }

  void fill_frontier(const std::vector<Played>& played) {
    for (size_t i = 0; i < result_.frontier.size(); ++i) {
      const Outcome mean = mean_outcome(played[i].outcomes);
      result_.frontier[i].played_step_s = mean.step_s;
      result_.frontier[i].played_gpu_energy_j = mean.gpu_energy_j;
    }
  }

  bool take_best(Knob knob, std::vector<Played>& played) {
    size_t best = played.size();
    double value = best_.value * (1 - kProgress);
    for (size_t i = 0; i < played.size(); ++i)
      if (played[i].allowed && played[i].value < value) {
        value = played[i].value;
        best = i;
      }
    for (size_t i = 0; i < played.size(); ++i) add_row(to_word(knob), played[i], i == best);
    if (best == played.size()) return false;
    if (knob == Knob::kCaps || knob == Knob::kClocks) add_runners_up(played, best);
    best_ = std::move(played[best]);
    return true;
  }

  /// Caps and clocks that gain less but cost less time: on other silicon the best may take too
  /// long.
  void add_runners_up(const std::vector<Played>& played, size_t best) {
    std::vector<const Played*> others;
    for (size_t i = 0; i < played.size(); ++i)
      if (i != best && played[i].allowed && played[i].value < best_.value)
        others.push_back(&played[i]);
    std::ranges::stable_sort(others,
                             [](const Played* a, const Played* b) { return a->value < b->value; });
    others.resize(std::min(others.size(), kRunnersUp));
    std::ranges::reverse(others);
    for (const Played* other : others) runners_up_.push_back(other->candidate);
  }

  void add_row(std::string_view knob, const Played& played, bool taken) {
    const Outcome mean = mean_outcome(played.outcomes);
    result_.rows.push_back({.knob = std::string(knob),
                            .name = played.candidate.name,
                            .step_s = mean.step_s,
                            .energy_j = mean.energy_j,
                            .peak_w = mean.peak_w,
                            .max_c = mean.max_c,
                            .gain_pct = 100 * (1 - played.value / unchanged_value_),
                            .allowed = played.allowed,
                            .taken = taken,
                            .known = played.candidate.known,
                            .refusal = played.refusal});
  }

  const Options& options_;
  Optimized& result_;
  Judge judge_;
  Played best_;
  double unchanged_value_ = 1;
  std::optional<Played> uncapped_;  ///< the best before caps were turned
  std::vector<Candidate> taken_, runners_up_;
  std::set<std::string> seen_;
};

/// Plays the finalists on draws that the search has not seen, and on the job's own.
class Decision {
 public:
  Decision(const spec::Job& job, const Options& options, Optimized& result)
      : job_(job), options_(options), result_(result) {
    seeds_ = seeds_and_own(job, "optimize decision", options.judges);
  }

  Result<void> run(std::vector<Candidate> finalists) {
    std::vector<Candidate> all = {{"unchanged", job_}};
    for (Candidate& finalist : finalists) all.push_back(std::move(finalist));
    if (options_.progress)
      options_.progress(fmt::format("decision: {} finalists on {} draws of silicon", all.size() - 1,
                                    options_.judges));
    Judge judge(options_, seeds_);
    ERGOMETER_ASSIGN(std::vector<Played> played, judge.play_all(std::move(all)));
    result_.plays += judge.plays();
    for (Played& it : played) own_.push_back(split_own(it));
    decide(played);
    return robustness();
  }

 private:
  /// The play with the job's own seed, taken off the others.
  static Outcome split_own(Played& played) {
    Outcome own = std::move(played.outcomes.back());
    played.outcomes.pop_back();
    return own;
  }

  void decide(const std::vector<Played>& played) {
    size_t best = 0;
    Gain best_gain;
    std::vector<std::pair<size_t, double>> allowed;  // and what they gain, percent
    for (size_t i = 1; i < played.size(); ++i) {
      const Gain gain = paired_gain(options_.objective, played[0].outcomes, played[i].outcomes,
                                    options_.noise_floor_pct);
      if (!played[i].allowed || worse_as_given(i)) continue;
      allowed.emplace_back(i, gain.value_pct);
      if (best != 0 && gain.value_pct <= best_gain.value_pct) continue;
      best = i;
      best_gain = gain;
    }
    result_.gain = best_gain;
    result_.best_name = best == 0 ? "" : played[best].candidate.name;
    result_.keeps = best == 0 || !best_gain.certain();
    const size_t chosen = result_.keeps ? 0 : best;
    for (const auto& [other, gain_pct] : allowed)
      if (chosen != 0 && other != best && gain_pct > best_gain.value_pct - options_.noise_floor_pct)
        result_.as_good.push_back(played[other].candidate.name);
    result_.unchanged = job_;
    result_.chosen = played[chosen].candidate.job;
    result_.unchanged_outcome = own_[0];
    result_.chosen_outcome = own_[chosen];
    result_.unchanged_mean = mean_outcome(played[0].outcomes);
    result_.chosen_mean = mean_outcome(played[chosen].outcomes);
  }

  /// With the silicon that the job itself says.
  bool worse_as_given(size_t i) const {
    return value_of(options_.objective, own_[i]) >= value_of(options_.objective, own_[0]);
  }

  Result<void> robustness() {
    if (result_.keeps) return {};
    result_.robustness = robustness_of(result_.gain);
    if (!has_faults(job_)) return {};
    Options options = options_;
    Judge judge(options, {seeds_.begin(), seeds_.begin() + kMovedSeeds});
    ERGOMETER_ASSIGN(const std::vector<Played> moved,
                     judge.play_all({{"unchanged", with_faults_moved(job_)},
                                     {"chosen", with_faults_moved(result_.chosen)}}));
    result_.plays += judge.plays();
    result_.robustness.faults_moved_pct = 100 * (1 - moved[1].value / moved[0].value);
    return {};
  }

  const spec::Job& job_;
  const Options& options_;
  Optimized& result_;
  std::vector<uint64_t> seeds_;
  std::vector<Outcome> own_;
};

}  // namespace

Robustness robustness_of(const Gain& gain) {
  const std::vector<double>& gains = gain.by_seed_pct;
  return {.worst_pct = *std::ranges::min_element(gains),
          .better = std::ranges::count_if(gains, [](double pct) { return pct > 0; }),
          .draws = std::ssize(gains),
          .faults_moved_pct = {}};
}

Result<Optimized> optimize(const spec::Job& job, const Options& options) {
  if (const auto alike = spec::refuse_groups(job.cluster, "optimize"); !alike)
    return input_error(
        "{}: caps, clocks and chips' spread are weighed for GPUs that are alike; search finds "
        "layers, batches and placement on unlike ones",
        alike.error().message);
  Optimized result;
  Search search(job, options, result);
  ERGOMETER_TRY(search.run(job));
  Decision decision(job, options, result);
  ERGOMETER_TRY(decision.run(std::move(search).finalists()));
  if (options.clock_change_s) {
    ERGOMETER_ASSIGN(result.operator_clocks, operator_clocks(job, *options.clock_change_s,
                                                             options.most_slowdown_pct / 100));
  }
  return result;
}

}  // namespace ergometer::optimize
