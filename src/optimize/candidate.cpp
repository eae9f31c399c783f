#include "optimize/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "base/parallel.h"
#include "base/random.h"

namespace ergometer::optimize {
namespace {

/// What a rank does itself; the rest of a step it waits.
constexpr std::array kWork = {&run::Breakdown::compute,
                              &run::Breakdown::exposed_all_reduce,
                              &run::Breakdown::exposed_all_gather,
                              &run::Breakdown::exposed_reduce_scatter,
                              &run::Breakdown::exposed_all_to_all,
                              &run::Breakdown::optimizer};

/// Over the draws of silicon; the last outcome is the job's own.
double mean_step_s(const std::vector<Outcome>& outcomes) {
  const std::span draws(outcomes.data(), std::max<size_t>(1, outcomes.size() - 1));
  const double sum = base::sum(draws, [](const Outcome& outcome) { return outcome.step_s; });
  return sum / static_cast<double>(draws.size());
}

void refuse(Played& played, std::string why) {
  played.allowed = false;
  played.refusal = std::move(why);
}

}  // namespace

std::string_view to_word(Knob knob) {
  switch (knob) {
    case Knob::kPlacement: return "placement";
    case Knob::kLayers: return "layers";
    case Knob::kRecompute: return "recompute";
    case Knob::kCaps: return "caps";
    case Knob::kClocks: return "clocks";
  }
  ERGOMETER_CHECK(false, "every knob is listed");
}

std::vector<Knob> all_knobs() {
  std::vector<Knob> knobs;
  for (const Knob knob :
       {Knob::kPlacement, Knob::kLayers, Knob::kRecompute, Knob::kCaps, Knob::kClocks})
    knobs.push_back(knob);
  return knobs;
}

Result<std::vector<Played>> Judge::play_all(std::vector<Candidate> candidates) {
  std::vector<std::optional<Result<std::vector<Outcome>>>> outcomes(candidates.size());
  base::parallel_for(candidates.size(), options_.threads,
                     [&](size_t i) { outcomes[i] = play(candidates[i].job, seeds_); });
  plays_ += candidates.size() * seeds_.size();
  std::vector<Played> played;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool failed = !outcomes[i]->has_value();
    if (failed && unchanged_.empty()) return tl::unexpected(outcomes[i]->error());
    Played& one = played.emplace_back();
    one.candidate = std::move(candidates[i]);
    one.outcomes = failed ? unchanged_ : *std::move(*outcomes[i]);
    if (unchanged_.empty()) unchanged_ = one.outcomes;
    for (const Outcome& outcome : one.outcomes)
      one.value += value_of(options_.objective, outcome) / static_cast<double>(seeds_.size());
    rule(one);
    if (failed) refuse(one, outcomes[i]->error().message);
  }
  return played;
}

void Judge::rule(Played& played) const {
  const Outcome &now = played.outcomes.front(), &before = unchanged_.front();
  if (!now.fits && (before.fits || now.memory_bytes > before.memory_bytes))
    return refuse(played, "does not fit into memory");
  if (options_.objective == Objective::kTime) return;
  const double drawn = 100 * (mean_step_s(played.outcomes) / mean_step_s(unchanged_) - 1);
  const double own = 100 * (played.outcomes.back().step_s / unchanged_.back().step_s - 1);
  if (const double slower = std::max(drawn, own); slower > options_.most_slowdown_pct)
    refuse(played, fmt::format("takes {:.1f} % longer{}", slower,
                               own > drawn ? " with the job's own silicon" : ""));
}

std::vector<run::Rank> mean_ranks(const std::vector<Outcome>& outcomes) {
  std::vector<run::Rank> mean = outcomes.front().ranks;
  const double share = 1.0 / static_cast<double>(outcomes.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    const auto average = [&](auto&& member) {
      return base::sum(outcomes,
                       [&](const Outcome& outcome) { return share * member(outcome.ranks[i]); });
    };
    run::Rank& it = mean[i];
    for (double run::Breakdown::* part : kWork)
      it.breakdown_s.*part = average([&](const run::Rank& r) { return r.breakdown_s.*part; });
    for (double run::Rank::* member : {&run::Rank::mean_power_w, &run::Rank::mean_gpu_c,
                                       &run::Rank::max_gpu_c, &run::Rank::mean_clock_mhz})
      it.*member = average([&](const run::Rank& r) { return r.*member; });
  }
  return mean;
}

double work_s(const run::Rank& rank) {
  double sum = 0;
  for (double run::Breakdown::* part : kWork) sum += rank.breakdown_s.*part;
  return sum;
}

std::vector<double> stage_work_s(const std::vector<run::Rank>& ranks, int64_t stages) {
  std::vector<double> seconds(static_cast<size_t>(stages), 0.0);
  const double share = static_cast<double>(stages) / static_cast<double>(ranks.size());
  for (const run::Rank& rank : ranks)
    seconds[static_cast<size_t>(rank.stage)] += share * work_s(rank);
  return seconds;
}

std::vector<uint64_t> seeds_for(const spec::Job& job, std::string_view purpose, size_t count) {
  const base::Random random(job.conditions.seed, 0, purpose);
  std::vector<uint64_t> seeds;
  // Settings hold seeds as whole numbers below 2^31, so that any of them can be tried by hand.
  for (size_t i = 0; i < count; ++i) seeds.push_back(1 + (random.bits(i) & 0x7FFFFFFEu) / 2);
  return seeds;
}

std::vector<uint64_t> seeds_and_own(const spec::Job& job, std::string_view purpose, size_t count) {
  std::vector<uint64_t> seeds = seeds_for(job, purpose, count);
  seeds.push_back(job.conditions.seed);
  return seeds;
}

}  // namespace ergometer::optimize
