#include "optimize/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "base/parallel.h"
#include "optimize/caps.h"
#include "spec/job/node_groups.h"

namespace ergometer::optimize {
namespace {

constexpr size_t kBalanceRounds = 20;
/// Leads are closed below this share of the work: a play settles to 0.05 %, and a step of the
/// clock, which is 0.8 % of it, is held for part of the time.
constexpr double kClosed = 0.002;
/// Watts for speed, relative: power at a fixed voltage grows as the clock does, and faster where
/// the voltage follows; the least of these, so that rounds do not overshoot.
constexpr double kWattsForSpeed = 1;
constexpr double kMostPerRound = 0.05;

/// What a rank computes in a step; communication is left out, for waiting is part of it.
double own_work_s(const run::Rank& rank) {
  return rank.breakdown_s.compute + rank.breakdown_s.optimizer;
}

/// By rank: `pick` of the work of its stage's ranks.
template <class Pick>
std::vector<double> by_stage(const std::vector<run::Rank>& ranks, Pick pick) {
  std::vector<std::vector<double>> work_s;
  for (const run::Rank& rank : ranks) {
    work_s.resize(std::max(work_s.size(), static_cast<size_t>(rank.stage) + 1));
    work_s[static_cast<size_t>(rank.stage)].push_back(own_work_s(rank));
  }
  std::vector<double> picked_s;
  for (std::vector<double>& stage_s : work_s)
    picked_s.push_back(stage_s.empty() ? 0 : pick(stage_s));
  std::vector<double> result;
  for (const run::Rank& rank : ranks) result.push_back(picked_s[static_cast<size_t>(rank.stage)]);
  return result;
}

double largest(std::vector<double>& values) { return *std::ranges::max_element(values); }
double smallest(std::vector<double>& values) { return *std::ranges::min_element(values); }
/// Of an even number the lower of the two in the middle, so that it is some rank's own.
double middle(std::vector<double>& values) { return base::lower_median(values); }

/// The work that every rank is to be aligned with.
std::vector<double> aligned_work_s(const std::vector<run::Rank>& ranks, Align align) {
  switch (align) {
    case Align::kSlowest:
      // A little quicker, so that none becomes the slowest.
      return by_stage(ranks, [](auto& values) { return largest(values) * (1 - kClosed); });
    case Align::kMedian: return by_stage(ranks, middle);
    case Align::kFastest: return by_stage(ranks, smallest);
  }
  ERGOMETER_CHECK(false, "every alignment is listed");
}

/// How far the ranks' work is from the one they are aligned with, relative.
std::vector<double> errors_of(const std::vector<run::Rank>& ranks,
                              const std::vector<double>& aim_s) {
  std::vector<double> errors;
  for (size_t i = 0; i < ranks.size(); ++i)
    errors.push_back(aim_s[i] > 0 ? own_work_s(ranks[i]) / aim_s[i] - 1 : 0);
  return errors;
}

/// Gives every node's GPUs together no more than they had.
void keep_nodes_power(std::vector<double>& watts, const std::vector<run::Rank>& ranks,
                      const Caps& caps) {
  int64_t nodes = 0;
  for (const run::Rank& rank : ranks) nodes = std::max(nodes, rank.node + 1);
  std::vector<std::vector<size_t>> of_node(static_cast<size_t>(nodes));
  for (size_t i = 0; i < ranks.size(); ++i)
    of_node[static_cast<size_t>(ranks[i].node)].push_back(i);
  for (const std::vector<size_t>& members : of_node) {
    std::vector<double> node_w;
    double budget_w = 0;
    for (const size_t i : members) {
      node_w.push_back(watts[i]);
      budget_w += caps.watts[i];
    }
    node_w = within(std::move(node_w), caps, budget_w);
    for (size_t at = 0; at < members.size(); ++at) watts[members[at]] = node_w[at];
  }
}

/// One draw of silicon, played round after round.
class Balancing {
 public:
  Balancing(const spec::Job& job, Align align, Caps caps)
      : job_(job), align_(align), caps_(std::move(caps)) {}

  struct Round {
    std::vector<double> watts;  ///< by rank
    Outcome outcome;
  };

  /// The unchanged job first; others only while there are leads to close.
  Result<void> run() {
    ERGOMETER_ASSIGN(Outcome first, play_once(job_));
    rounds_.push_back({caps_.watts, std::move(first)});
    aim_s_ = aligned_work_s(rounds_.front().outcome.ranks, align_);
    for (size_t round = 0; round < kBalanceRounds; ++round) {
      std::vector<double> watts = next_watts();
      if (watts == rounds_.back().watts) return {};
      ERGOMETER_ASSIGN(Outcome outcome, play_once(with_caps(job_, watts)));
      rounds_.push_back({std::move(watts), std::move(outcome)});
    }
    return {};
  }

  const std::vector<Round>& rounds() const { return rounds_; }

  /// The round to stay at: of those that take no more time than the unchanged job the one with the
  /// least energy, or the shortest.
  size_t best(Objective objective) const {
    size_t best = 0;
    for (size_t i = 1; i < rounds_.size(); ++i) {
      const Outcome& it = rounds_[i].outcome;
      const bool slower = it.step_s > rounds_.front().outcome.step_s * (1 + kClosed / 2);
      if (!slower && value_of(objective, it) < value_of(objective, rounds_[best].outcome)) best = i;
    }
    return best;
  }

 private:
  static Result<Outcome> play_once(const spec::Job& job) {
    ERGOMETER_ASSIGN(std::vector<Outcome> outcomes, play(job, std::span(&job.conditions.seed, 1)));
    return std::move(outcomes.front());
  }

  std::vector<double> next_watts() {
    const Round& last = rounds_.back();
    const std::vector<run::Rank>& ranks = last.outcome.ranks;
    if (align_ == Align::kMedian) aim_s_ = aligned_work_s(ranks, align_);
    const std::vector<double> errors = errors_of(ranks, aim_s_);
    std::vector<double> watts = last.watts;
    bool closed = true;
    for (size_t i = 0; i < watts.size(); ++i) {
      if (std::abs(errors[i]) <= kClosed) continue;
      closed = false;
      // A cap above what a GPU ever draws holds nothing back.
      const double holds_w = errors[i] < 0 ? std::min(watts[i], ranks[i].peak_power_w) : watts[i];
      const double change = std::clamp(kWattsForSpeed * errors[i], -kMostPerRound, kMostPerRound);
      watts[i] = limited(i, std::round(holds_w * (1 + change)));
    }
    if (closed) return last.watts;
    if (align_ == Align::kMedian) keep_nodes_power(watts, ranks, caps_);
    return watts;
  }

  /// Towards the slowest no cap goes up, towards the fastest none goes down.
  double limited(size_t i, double watts) const {
    const double before = caps_.watts[i];
    if (align_ == Align::kSlowest) return std::clamp(watts, caps_.lowest_w, before);
    if (align_ == Align::kFastest) return std::clamp(watts, before, caps_.highest_w);
    return std::clamp(watts, caps_.lowest_w, caps_.highest_w);
  }

  const spec::Job& job_;
  Align align_;
  Caps caps_;
  std::vector<double> aim_s_;
  std::vector<Round> rounds_;
};

std::string name_of(size_t round, const std::vector<double>& watts) {
  if (round == 0) return "unchanged";
  const auto [low, high] = std::ranges::minmax_element(watts);
  return fmt::format("round {}, caps {:.0f} to {:.0f} W", round, *low, *high);
}

void add_rounds(const Balancing& own, size_t best, Objective objective, Optimized& result) {
  const double before = value_of(objective, own.rounds().front().outcome);
  for (size_t i = 0; i < own.rounds().size(); ++i) {
    const Outcome& it = own.rounds()[i].outcome;
    result.rows.push_back({.knob = std::string(to_word(Knob::kCaps)),
                           .name = name_of(i, own.rounds()[i].watts),
                           .step_s = it.step_s,
                           .energy_j = it.energy_j,
                           .peak_w = it.peak_w,
                           .max_c = it.max_c,
                           .gain_pct = 100 * (1 - value_of(objective, it) / before),
                           .taken = i == best,
                           .refusal = {}});
  }
}

void add_gpus(const Balancing& own, size_t chosen, Optimized& result) {
  const Balancing::Round &before = own.rounds().front(), &after = own.rounds()[chosen];
  const std::vector<double> lead_before_s = lead_times(before.outcome.ranks),
                            lead_s = lead_times(after.outcome.ranks);
  for (size_t i = 0; i < before.watts.size(); ++i) {
    const run::Rank& rank = before.outcome.ranks[i];
    result.balanced_gpus.push_back({.node = rank.node,
                                    .gpu = rank.slot,
                                    .rank = rank.rank,
                                    .lead_before_s = lead_before_s[i],
                                    .lead_s = lead_s[i],
                                    .cap_before_w = before.watts[i],
                                    .cap_w = after.watts[i]});
  }
}

/// All draws that decide and, last, the job's own.
Result<std::vector<Balancing>> balance_all(const std::vector<spec::Job>& drawn, Align align,
                                           const Caps& caps, const Options& options) {
  std::vector<Balancing> all;
  for (const spec::Job& job : drawn) all.emplace_back(job, align, caps);
  std::vector<std::optional<Result<void>>> done(all.size());
  base::parallel_for(all.size(), options.threads, [&](size_t i) { done[i] = all[i].run(); });
  for (const auto& one : done) ERGOMETER_TRY(*one);
  return all;
}

Result<Caps> caps_to_balance(const spec::Job& job, Align align) {
  ERGOMETER_ASSIGN(const physics::GpuPower gpu, physics::gpu_power(job.cluster.node.gpu));
  double fans_w = 0;
  if (job.conditions.cluster_cap_w > 0) {
    if (align == Align::kFastest)
      return input_error(
          "--balance fastest raises caps, which --cluster-cap forbids; median moves watts under "
          "it");
    ERGOMETER_ASSIGN(const std::vector<Outcome> outcomes,
                     play(job, std::span(&job.conditions.seed, 1)));
    fans_w = outcomes.front().fans_w;
  }
  Caps caps = caps_of(job, gpu, fans_w);
  if (align == Align::kFastest) caps.highest_w = gpu.highest_cap_w;
  return caps;
}

}  // namespace

std::string_view to_word(Align align) {
  switch (align) {
    case Align::kSlowest: return "slowest";
    case Align::kMedian: return "median";
    case Align::kFastest: return "fastest";
  }
  ERGOMETER_CHECK(false, "every alignment is listed");
}

std::vector<Align> all_aligns() { return {Align::kSlowest, Align::kMedian, Align::kFastest}; }

Objective objective_of(Align align) {
  return align == Align::kSlowest ? Objective::kEnergy : Objective::kTime;
}

std::vector<double> lead_times(const std::vector<run::Rank>& ranks) {
  std::vector<double> leads_s = by_stage(ranks, largest);
  for (size_t i = 0; i < ranks.size(); ++i) leads_s[i] -= own_work_s(ranks[i]);
  return leads_s;
}

Result<Optimized> balance(const spec::Job& job, Align align, const Options& options) {
  ERGOMETER_TRY(spec::refuse_groups(job.cluster, "optimize"));
  ERGOMETER_ASSIGN(const Caps caps, caps_to_balance(job, align));
  const Objective objective = objective_of(align);
  std::vector<spec::Job> drawn;
  for (const uint64_t seed : seeds_and_own(job, "optimize decision", options.judges))
    drawn.emplace_back(job).conditions.seed = seed;
  ERGOMETER_ASSIGN(const std::vector<Balancing> all, balance_all(drawn, align, caps, options));
  const Balancing& own = all.back();

  Optimized result;
  std::vector<Outcome> before, after;
  for (size_t i = 0; i < all.size(); ++i) {
    result.plays += all[i].rounds().size();
    if (i + 1 == all.size()) break;
    before.push_back(all[i].rounds().front().outcome);
    after.push_back(all[i].rounds()[all[i].best(objective)].outcome);
  }
  const size_t best = own.best(objective);
  result.gain = paired_gain(objective, before, after, options.noise_floor_pct);
  result.keeps = best == 0 || !result.gain.certain();
  const size_t chosen = result.keeps ? 0 : best;
  if (best != 0) result.best_name = name_of(best, own.rounds()[best].watts);
  result.unchanged = job;
  result.chosen = chosen == 0 ? job : with_caps(job, own.rounds()[chosen].watts);
  result.unchanged_outcome = own.rounds().front().outcome;
  result.chosen_outcome = own.rounds()[chosen].outcome;
  result.unchanged_mean = mean_outcome(before);
  result.chosen_mean = result.keeps ? result.unchanged_mean : mean_outcome(after);
  if (!result.keeps) result.robustness = robustness_of(result.gain);
  result.balanced_to = align;
  add_rounds(own, chosen, objective, result);
  add_gpus(own, chosen, result);
  return result;
}

}  // namespace ergometer::optimize
