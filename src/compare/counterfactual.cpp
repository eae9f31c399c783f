#include "compare/counterfactual.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "base/collection.h"
#include "base/parallel.h"
#include "base/text.h"
#include "compare/players.h"
#include "compare/verdict.h"
#include "engine/outcome/summary.h"
#include "engine/simulate.h"
#include "run/link_kinds.h"
#include "run/run.h"

namespace ergometer::compare {
namespace {

/// What a comparison is of, made from a simulated Run: step time, its parts, energy, peak memory,
/// bytes by kind of link, power, clock and temperature.
struct Outcome {
  std::vector<double> values;  ///< quantities, then parts
  run::Memory memory;
  Range step_s;
  double tokens = 0;
  bool has_power = false;
};

struct Measure {
  const char *name, *unit;
  bool power;  ///< known only with power
  double (*of)(const run::Run&);
};

double bytes_over(const run::Run& run, bool network) {
  double bytes = 0;
  for (const run::Link& link : run.links)
    if (!run::joins_switches(link.kind) && link.kind != "host" && (link.kind == "nic") == network)
      bytes += link.bytes_per_step;
  return bytes;
}

constexpr std::array kQuantities = std::to_array<Measure>({
    {"step_time_s", "s", false, [](const run::Run& r) { return r.performance.step_time_s; }},
    {"energy_j_per_step", "J", true, [](const run::Run& r) { return r.power.energy_j_per_step; }},
    {"gpu_energy_j_per_step", "J", true,
     [](const run::Run& r) { return r.power.gpu_energy_j_per_step; }},
    {"tokens_per_s", "token/s", false,
     [](const run::Run& r) { return r.performance.tokens_per_s; }},
    {"peak_memory_bytes", "B", false, [](const run::Run& r) { return r.memory.peak_bytes; }},
    {"intra_bytes_per_step", "B", false, [](const run::Run& r) { return bytes_over(r, false); }},
    {"network_bytes_per_step", "B", false, [](const run::Run& r) { return bytes_over(r, true); }},
    {"mean_w_per_gpu", "W", true, [](const run::Run& r) { return r.power.mean_w_per_gpu; }},
    {"mean_clock_mhz", "MHz", true, [](const run::Run& r) { return r.thermal.mean_clock_mhz; }},
    {"max_gpu_c", "C", true, [](const run::Run& r) { return r.thermal.max_gpu_c; }},
});

Outcome outcome_of(const run::Run& run, const spec::Job& job) {
  Outcome outcome;
  for (const Measure& measure : kQuantities) outcome.values.push_back(measure.of(run));
  for (const Quantity& part : parts_of(run.performance.breakdown_s, {}))
    outcome.values.push_back(part.a);
  outcome.memory = run.memory;
  outcome.step_s = {run.performance.step_time_s_low, run.performance.step_time_s_high};
  outcome.tokens = engine::tokens_per_step(job);
  outcome.has_power = run.has_power;
  return outcome;
}

Result<run::Run> run_of(const spec::Job& job, const CounterfactualOptions& options,
                        bool intervals) {
  return options.simulate ? options.simulate(job) : engine::simulate(job, {.intervals = intervals});
}

/// Everything that is said of one coalition, simulated once.
class Simulations {
 public:
  Simulations(const JobPair& pair, const CounterfactualOptions& options)
      : pair_(pair), options_(options) {}

  /// Simulates those that are not known; what cannot be goes to `refused()`.
  void run(const std::vector<Coalition>& wanted) {
    std::vector<Coalition> missing;
    for (const Coalition c : wanted)
      if (!known_.contains(c) && !refused_.contains(c)) missing.push_back(c);
    std::vector<Result<Outcome>> outcomes(missing.size(), input_error(""));
    int64_t done = 0;
    std::mutex mutex;
    base::parallel_for(missing.size(), options_.threads, [&](size_t i) {
      outcomes[i] = simulate(missing[i]);
      const std::lock_guard lock(mutex);
      ++done;
      if (options_.progress) options_.progress(done, static_cast<int64_t>(missing.size()));
    });
    for (size_t i = 0; i < missing.size(); ++i) {
      if (outcomes[i])
        known_.emplace(missing[i], std::move(*outcomes[i]));
      else
        refused_.emplace(missing[i], outcomes[i].error().message);
    }
  }

  /// Which of the wanted jobs cannot be, found without simulating.
  void resolve(const std::vector<Coalition>& wanted) {
    std::vector<std::string> faults(wanted.size());
    base::parallel_for(wanted.size(), options_.threads, [&](size_t i) {
      if (known_.contains(wanted[i]) || resolved_.contains(wanted[i])) return;
      if (const auto job = pair_.job(wanted[i]); !job) faults[i] = job.error().message;
    });
    for (size_t i = 0; i < wanted.size(); ++i) {
      resolved_.insert(wanted[i]);
      if (!faults[i].empty()) refused_.emplace(wanted[i], faults[i]);
    }
  }

  const std::map<Coalition, std::string>& refused() const { return refused_; }
  const Outcome& at(Coalition c) const { return known_.at(c); }
  int64_t count() const { return static_cast<int64_t>(known_.size()); }
  void power_is_known(bool known) { needs_power_ = known; }

 private:
  Result<Outcome> simulate(Coalition coalition) const {
    ERGOMETER_ASSIGN(const spec::Job job, pair_.job(coalition));
    ERGOMETER_ASSIGN(const run::Run run, run_of(job, options_, false));
    if (needs_power_ && !run.has_power)
      return input_error("nothing is known of the power of such a machine");
    return outcome_of(run, job);
  }

  const JobPair& pair_;
  const CounterfactualOptions& options_;
  bool needs_power_ = false;
  std::map<Coalition, Outcome> known_;
  std::map<Coalition, std::string> refused_;
  std::set<Coalition> resolved_;
};

Coalition everything(const JobPair& pair) { return (Coalition{1} << pair.size()) - 1; }

std::vector<std::string> titles_of(const JobPair& pair) {
  std::vector<std::string> titles;
  for (size_t i = 0; i < pair.size(); ++i) titles.emplace_back(pair.factor(i).title);
  return titles;
}

std::vector<Coalition> wanted_by(const Cast& cast) {
  return base::mapped(coalitions(cast.unions),
                      [&](const Coalition players) { return factors_of(cast, players); });
}

/// Casts until every job that is asked for can be, and simulates all of them.
Cast play(const JobPair& pair, double limit, Simulations& simulations) {
  const std::vector<std::string> titles = titles_of(pair);
  std::vector<FactorKind> kinds;
  for (size_t i = 0; i < pair.size(); ++i) kinds.push_back(pair.factor(i).kind);
  Cast cast = first_cast(pair.size());
  for (;;) {
    fit(kinds, titles, limit, cast);
    simulations.resolve(wanted_by(cast));
    if (merge_refused(simulations.refused(), titles, cast)) continue;
    simulations.run(wanted_by(cast));
    if (!merge_refused(simulations.refused(), titles, cast)) return cast;
  }
}

Cause cause_of(const JobPair& pair, const Player& player) {
  Cause cause;
  std::vector<std::string> titles;
  for (const int index : player.factors) {
    const auto i = static_cast<size_t>(index);
    cause.id += fmt::format("{}{}", cause.id.empty() ? "" : "+", pair.factor(i).id);
    cause.differences.insert(cause.differences.end(), pair.differences(i).begin(),
                             pair.differences(i).end());
  }
  cause.title = title_of(player, titles_of(pair));
  cause.detail = in_words(cause.differences);
  return cause;
}

/// Fills quantities and parts with both sides, and the residual: B as it is minus A and all causes.
void add_sides(const Outcome& a, const Outcome& b, bool power,
               const std::vector<std::vector<double>>& worth, Comparison& result) {
  const auto left_over = [&](size_t i) {
    double rest = b.values[i] - a.values[i];
    for (const std::vector<double>& player : worth) rest -= player[i];
    return rest;
  };
  for (size_t i = 0; i < kQuantities.size(); ++i) {
    if (kQuantities[i].power && !power) continue;
    result.quantities.push_back(
        {kQuantities[i].name, kQuantities[i].unit, a.values[i], b.values[i]});
    result.residual[kQuantities[i].name] = left_over(i);
  }
  result.quantities.front().a_range = a.step_s;
  result.quantities.front().b_range = b.step_s;
  const std::vector<Quantity> names = parts_of({}, {});
  for (size_t p = 0; p < names.size(); ++p) {
    const size_t i = kQuantities.size() + p;
    result.parts.push_back({names[p].name, "s", a.values[i], b.values[i]});
    result.parts_residual[names[p].name] = left_over(i);
  }
}

void add_causes(const JobPair& pair, const Cast& cast,
                const std::vector<std::vector<double>>& worth, Comparison& result) {
  for (size_t i = 0; i < cast.players.size(); ++i) {
    Cause& cause = result.causes.emplace_back(cause_of(pair, cast.players[i]));
    for (size_t q = 0; q < kQuantities.size(); ++q)
      if (result.residual.contains(kQuantities[q].name))
        cause.amount[kQuantities[q].name] = worth[i][q];
    for (size_t p = 0; p < result.parts.size(); ++p)
      cause.parts[result.parts[p].name] = worth[i][kQuantities.size() + p];
    result.differences.insert(result.differences.end(), cause.differences.begin(),
                              cause.differences.end());
  }
}

double needed_bytes(const run::Memory& memory) { return memory.peak_bytes + memory.reserved_bytes; }

/// Before what it comes to: a side that does not surely fit, a sentence each.
std::string doubts_of_memory(const Outcome& a, const Outcome& b) {
  std::string text;
  for (const auto& [side, outcome] : {std::pair("A", &a), std::pair("B", &b)}) {
    const run::Memory& memory = outcome->memory;
    const run::FitState state = run::fit_state(memory.fit_probability);
    if (state == run::FitState::kFits) continue;
    const char* risk = memory.fits ? "is at risk in memory" : "probably does not fit in memory";
    text += fmt::format("{} {}: {} of {}{}. ", side,
                        state == run::FitState::kAtRisk ? risk : "does not fit in memory",
                        base::format_binary_bytes(needed_bytes(memory)),
                        base::format_binary_bytes(memory.capacity_bytes),
                        memory.fits ? "" : "; its times are those of a GPU that had enough");
  }
  return text;
}

/// Which single change would take a job that fits out of its memory: what memory forbids.
void note_limits(const JobPair& pair, const Cast& cast, const Simulations& simulations,
                 Comparison& result) {
  const Coalition all = everything(pair);
  const auto note = [&](const char* side, const char* other, Coalition start, Coalition change,
                        const std::string& title) {
    if (!simulations.at(start).memory.fits) return;
    const run::Memory& memory = simulations.at(start ^ change).memory;
    if (!memory.fits)
      result.notes.push_back(fmt::format("memory: {} with {}'s {} alone would not fit, {} of {}",
                                         side, other, title,
                                         base::format_binary_bytes(needed_bytes(memory)),
                                         base::format_binary_bytes(memory.capacity_bytes)));
  };
  if (cast.players.size() < 2) return;
  for (size_t i = 0; i < cast.players.size(); ++i) {
    const Coalition change = factors_of(cast, Coalition{1} << i);
    const std::string title = title_of(cast.players[i], titles_of(pair));
    note("A", "B", 0, change, title);
    note("B", "A", all, change, title);
  }
}

void note_work(const Outcome& a, const Outcome& b, Comparison& result) {
  if (a.tokens == b.tokens) return;
  result.notes.push_back(fmt::format(
      "B's step works through {:.3g} times A's tokens: compare throughput beside step time",
      b.tokens / a.tokens));
}

/// What a change does to one drawn step is not what it does to all.
void note_draws(const JobPair& pair, Comparison& result) {
  const bool drawn = !pair.a().training.sequence_lengths.is_even() ||
                     !pair.b().training.sequence_lengths.is_even();
  if (drawn)
    result.notes.push_back(
        "documents are drawn: of each job the step nearest to the mean speaks for all; the means "
        "over drawn steps, which `simulate` tells of either job, may differ by other amounts");
}

void note_unions(const JobPair& pair, const Cast& cast, Comparison& result) {
  if (std::ranges::all_of(cast.unions.members,
                          [](const auto& members) { return members.size() == 1; }))
    return;
  std::string groups;
  for (const std::vector<int>& members : cast.unions.members) {
    std::string names;
    for (const int member : members)
      names += (names.empty() ? "" : ", ") +
               title_of(cast.players[static_cast<size_t>(member)], titles_of(pair));
    groups += (groups.empty() ? "" : "; ") + names;
  }
  result.notes.push_back(fmt::format(
      "{} causes have too many orders of change: these groups change one behind the other, each in "
      "every order within and between (Owen values): {}",
      cast.players.size(), groups));
}

}  // namespace

Result<Comparison> compare_jobs(const JobPair& pair, const CounterfactualOptions& options) {
  Simulations simulations(pair, options);
  ERGOMETER_ASSIGN(const run::Run run_a, run_of(pair.a(), options, true));
  ERGOMETER_ASSIGN(const run::Run run_b, run_of(pair.b(), options, true));
  const bool power = run_a.has_power && run_b.has_power;
  simulations.power_is_known(power);
  const Coalition none = 0, all = everything(pair);
  simulations.run({none, all});
  for (const auto& [coalition, reason] : simulations.refused()) return input_error(reason);

  const Cast cast = play(pair, static_cast<double>(options.most_simulations), simulations);
  const auto worth = attribute(cast.unions, [&](Coalition players) -> const std::vector<double>& {
    return simulations.at(factors_of(cast, players)).values;
  });
  Comparison result;
  const Outcome a = outcome_of(run_a, pair.a());
  const Outcome b = outcome_of(run_b, pair.b());
  add_sides(a, b, power, worth, result);
  add_causes(pair, cast, worth, result);
  rank_causes(result);
  result.notes = cast.notes;
  note_unions(pair, cast, result);
  note_limits(pair, cast, simulations, result);
  result.derived = pair.derived();
  note_work(a, b, result);
  note_draws(pair, result);
  if (run_a.has_power != run_b.has_power)
    result.notes.emplace_back("energy is known of one of the two only, and left out");
  result.simulations = simulations.count() + 2;
  result.verdict = doubts_of_memory(a, b) + verdict_of(result);
  return result;
}

}  // namespace ergometer::compare
