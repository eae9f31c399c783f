#include "campaign/replan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "base/text.h"
#include "campaign/ask.h"
#include "engine/outcome/summary.h"
#include "engine/power/run_phases.h"
#include "engine/simulate.h"
#include "plan/memory.h"
#include "spec/job/node_groups.h"
#include "workload/workload.h"

namespace ergometer::campaign {
namespace {

/// Written to storage and read again, as fast as `plan` assumes, and processes that start.
double assumed_restart_s(const spec::Job& job) {
  const double bytes = plan::checkpoint_bytes(job, workload::lower(job));
  double start_s = 0;
  for (const FailureKind& kind : catalog_failures().kinds)
    if (!kind.takes_node()) start_s = kind.restart_s;
  return 2 * bytes / (kAssumedNodeStorage * static_cast<double>(job.nodes())) + start_s;
}

Result<void> check_replannable(const spec::Job& job) {
  if (!job.trains())
    return input_error("replan: the job answers requests; it restarts at no checkpoint");
  if (!job.conditions.is_steady())
    return input_error(
        "replan: plays settled states, one a stretch; leave duration and measured_step out");
  ERGOMETER_TRY(spec::refuse_groups(job.cluster, "replan"));
  return optimize::check_power_is_known(job);
}

/// What `layout` changes in `job`; of caps only what it does not share with it.
optimize::Settings changes_of(const spec::Job& job, const spec::Job& layout) {
  optimize::Optimized change;
  change.unchanged = job;
  change.chosen = layout;
  change.keeps = false;
  return optimize::settings_of(change);
}

spec::Job under(const spec::Job& layout, const spec::Conditions& conditions) {
  spec::Job job = layout;
  job.conditions = conditions;
  return job;
}

/// What limits single GPUs, as a supply that fails does, no watts of others lift.
bool has_capped_gpus(const spec::Conditions& conditions) {
  return std::ranges::any_of(conditions.overrides, [](const spec::Override& o) {
    return o.kind == spec::OverrideKind::kPowerCap;
  });
}

/// Leaves out the layouts that no stretch and no total is in, so that those told are numbered
/// without a gap; the job's own stays.
void drop_unused_layouts(Replan& replan) {
  std::vector<bool> used(replan.layouts.size(), false);
  used[0] = true;
  for (const ReplanStretch& it : replan.stretches) used[it.before] = used[it.proposed] = true;
  for (const ReplanTotal& total : replan.totals)
    for (const size_t layout : total.layouts) used[layout] = true;
  std::vector<size_t> number(used.size(), 0);
  std::vector<ReplanLayout> kept;
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    number[i] = kept.size();
    kept.push_back(std::move(replan.layouts[i]));
  }
  replan.layouts = std::move(kept);
  for (ReplanStretch& it : replan.stretches) {
    it.before = number[it.before];
    it.proposed = number[it.proposed];
  }
  for (ReplanTotal& total : replan.totals)
    for (size_t& layout : total.layouts) layout = number[layout];
}

class ReplanSearch {
 public:
  ReplanSearch(const ReplanAsk& ask, Replan& result) : ask_(ask), result_(result) {
    caps_too_ = base::contains(ask.options.knobs, optimize::Knob::kCaps);
  }

  Result<void> run() {
    for (const Stretch& stretch : ask_.stretches) ERGOMETER_TRY(add_conditions(stretch));
    ERGOMETER_TRY(plain(0, 0));  // whether the job can run at all
    // Nothing has changed yet: what this finds, only who plans ahead has.
    ERGOMETER_TRY(propose(0, 0, ask_.options.knobs));
    size_t layout = 0;
    for (size_t i = 0; i < stretches_.size(); ++i) {
      ERGOMETER_TRY(decide(i, layout));
      layout = result_.stretches.back().after();
    }
    return add_up();
  }

 private:
  /// Stretches in which all is the same.
  struct Around {
    spec::Conditions conditions;
    std::string place;  ///< "changes.yaml:3", for messages
    double standing_w = 0;
    /// By layout: with these conditions and nothing else; the fastest that was found.
    std::vector<std::optional<ReplanPlay>> plain, best;
    std::vector<std::pair<size_t, bool>> proposed;  ///< layouts that were optimized; caps alone
  };

  Result<void> add_conditions(const Stretch& stretch) {
    ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(stretch.settings));
    const auto same = std::ranges::find(around_, job.conditions, &Around::conditions);
    const auto where = static_cast<size_t>(same - around_.begin());
    // A change that alters nothing is none: a restart has the time until the next one to pay.
    if (!around_of_.empty() && around_of_.back() == where) {
      stretches_.back().to_s = stretch.to_s;
      return {};
    }
    stretches_.push_back(stretch);
    around_of_.push_back(where);
    if (same != around_.end()) return {};
    Around& around = around_.emplace_back();
    around.conditions = job.conditions;
    around.place = stretch.where.empty() ? "replan" : stretch.where;
    ERGOMETER_ASSIGN(const engine::StandingPower standing, engine::standing_power(job));
    around.standing_w = standing.cluster_w;
    return {};
  }

  Result<ReplanPlay> play(const spec::Job& job, const std::string& place) const {
    engine::SimulateOptions options;
    options.kernels = options.intervals = false;
    const auto run = engine::simulate(job, options);
    if (!run) return input_error("{}: {}", place, run.error().message);
    if (!run->memory.fits)
      return tl::unexpected(
          base::Error{base::ErrorKind::kNo,
                      fmt::format("replan: the job does not fit in memory: {} of {}",
                                  base::format_binary_bytes(run->memory.peak_bytes),
                                  base::format_binary_bytes(run->memory.capacity_bytes))});
    return ReplanPlay{.step_s = run->performance.step_time_s,
                      .max_c = run->thermal.max_gpu_c,
                      .throttled_fraction = run->thermal.throttled_time_fraction,
                      .cluster_w = run->power.cluster_mean_w,
                      .shutdown_gpus = run->thermal.shutdown_gpus};
  }

  Result<ReplanPlay> plain(size_t where, size_t layout) {
    Around& around = around_[where];
    around.plain.resize(result_.layouts.size());
    std::optional<ReplanPlay>& known = around.plain[layout];
    if (!known) {
      ERGOMETER_ASSIGN(known,
                       play(under(result_.layouts[layout].job, around.conditions), around.place));
      keep_best(where, layout, *known);
    }
    return *known;
  }

  Result<ReplanPlay> best(size_t where, size_t layout) {
    ERGOMETER_TRY(plain(where, layout));
    return *around_[where].best[layout];
  }

  void keep_best(size_t where, size_t layout, const ReplanPlay& played) {
    auto& all = around_[where].best;
    all.resize(result_.layouts.size());
    if (!all[layout] || played.steps_per_s() > all[layout]->steps_per_s()) all[layout] = played;
  }

  size_t position_of(const spec::Job& job) {
    const spec::Job& own = result_.layouts.front().job;
    std::vector<std::string> changes = changes_of(own, under(job, own.conditions)).lines;
    const auto same = std::ranges::find(result_.layouts, changes, &ReplanLayout::changes);
    const auto position = static_cast<size_t>(same - result_.layouts.begin());
    if (same == result_.layouts.end()) result_.layouts.push_back({std::move(changes), job});
    return position;
  }

  /// Asks for something faster than a layout in a stretch, and plays it on the job's own silicon.
  Result<void> propose(size_t where, size_t layout, std::vector<optimize::Knob> knobs) {
    const std::pair asked(layout, knobs.size() == 1);
    if (base::contains(around_[where].proposed, asked)) return {};
    around_[where].proposed.push_back(asked);
    if (has_capped_gpus(around_[where].conditions)) std::erase(knobs, optimize::Knob::kCaps);
    if (knobs.empty()) return {};
    optimize::Options options = ask_.options;
    options.knobs = std::move(knobs);
    const spec::Job job = under(result_.layouts[layout].job, around_[where].conditions);
    ERGOMETER_ASSIGN(const optimize::Optimized found, optimize::optimize(job, options));
    if (found.keeps) return {};
    const size_t position = position_of(found.chosen);
    ERGOMETER_ASSIGN(ReplanPlay played, play(found.chosen, around_[where].place));
    optimize::Settings caps = changes_of(under(found.chosen, job.conditions), found.chosen);
    if (!caps.gpus.empty()) played.caps = std::move(caps);
    keep_best(where, position, played);
    return {};
  }

  Result<void> decide(size_t i, size_t layout) {
    const size_t where = around_of_[i];
    const Stretch& stretch = stretches_[i];
    ReplanStretch row{.from_s = stretch.from_s,
                      .to_s = stretch.to_s,
                      .changes = stretch.changes,
                      .before = layout,
                      .proposed = layout};
    ERGOMETER_ASSIGN(row.unchanged, plain(where, 0));
    row.kept = row.unchanged;
    if (i > 0) {
      if (caps_too_) ERGOMETER_TRY(propose(where, layout, {optimize::Knob::kCaps}));
      ERGOMETER_TRY(propose(where, layout, ask_.options.knobs));
      ERGOMETER_ASSIGN(row.kept, best(where, layout));
      row.does = without_restart(row);
    }
    ERGOMETER_TRY(weigh(where, row));
    if (i == 0) row.does = ReplanDoes::kGoesOn;
    result_.stretches.push_back(std::move(row));
    return {};
  }

  /// Caps of the stretch before hold until somebody lifts them.
  ReplanDoes without_restart(const ReplanStretch& row) const {
    if (!row.kept.caps.gpus.empty()) return ReplanDoes::kSetsCaps;
    const bool was_capped = !result_.stretches.back().played().caps.gpus.empty();
    return was_capped ? ReplanDoes::kLiftsCaps : ReplanDoes::kGoesOn;
  }

  Result<void> weigh(size_t where, ReplanStretch& row) {
    row.proposed_play = row.kept;
    for (size_t other = 0; other < result_.layouts.size(); ++other) {
      ERGOMETER_ASSIGN(const ReplanPlay played, best(where, other));
      if (played.steps_per_s() <= row.proposed_play.steps_per_s()) continue;
      row.proposed = other;
      row.proposed_play = played;
    }
    // Less than two runs of the same job differ is no gain.
    if (row.gain_pct() <= ask_.options.noise_floor_pct) {
      row.proposed = row.before;
      row.proposed_play = row.kept;
    }
    // Caps alone: only before the start has the job not set them.
    if (row.proposed == row.before) return {};
    row.break_even_s =
        break_even_s(row.kept.steps_per_s(), row.proposed_play.steps_per_s(), result_.restart_s);
    if (row.break_even_s && row.seconds() > *row.break_even_s) row.does = ReplanDoes::kRestarts;
    return {};
  }

  /// A total and its stretches so far.
  struct Adding {
    ReplanTotal total;
    std::vector<double> rates = {}, works_s = {};
  };

  /// One stretch of a total; `restarts`: training stands first.
  void add(Adding& to, size_t i, size_t layout, const ReplanPlay& played, bool restarts) {
    ReplanTotal& total = to.total;
    const double stands_s = restarts ? result_.restart_s : 0;
    const double works_s = result_.stretches[i].seconds() - stands_s;
    const double standing_w = around_[around_of_[i]].standing_w;
    total.steps += works_s * played.steps_per_s();
    to.rates.push_back(played.steps_per_s());
    to.works_s.push_back(std::max(0.0, works_s));
    total.energy_j += stands_s * standing_w +
                      works_s * (played.shutdown_gpus > 0 ? standing_w : played.cluster_w);
    total.restarts += restarts ? 1 : 0;
    total.layouts.push_back(layout);
  }

  Result<void> add_up() {
    Adding as_it_is{{.plan = "as it is"}}, replanned{{.plan = "re-planned"}},
        ahead{{.plan = "known ahead"}};
    std::vector<std::vector<double>> rates;
    std::vector<double> seconds;
    for (size_t i = 0; i < result_.stretches.size(); ++i) {
      const ReplanStretch& row = result_.stretches[i];
      const bool restarts = row.does == ReplanDoes::kRestarts;
      add(as_it_is, i, 0, row.unchanged, false);
      add(replanned, i, row.after(), row.played(), restarts);
      seconds.push_back(row.seconds());
      rates.emplace_back();
      for (size_t layout = 0; layout < result_.layouts.size(); ++layout) {
        ERGOMETER_ASSIGN(const ReplanPlay played, best(around_of_[i], layout));
        rates.back().push_back(played.steps_per_s());
      }
    }
    const std::vector<size_t> sequence = best_sequence(rates, seconds, result_.restart_s);
    for (size_t i = 0; i < sequence.size(); ++i) {
      ERGOMETER_ASSIGN(const ReplanPlay played, best(around_of_[i], sequence[i]));
      add(ahead, i, sequence[i], played, i > 0 && sequence[i] != sequence[i - 1]);
    }
    const double tokens = engine::tokens_per_step(result_.job);
    for (Adding* it : {&as_it_is, &replanned, &ahead}) {
      it->total.tokens = it->total.steps * tokens;
      it->total.transient_tokens = transient_steps(it->rates, it->works_s) * tokens;
      result_.totals.push_back(std::move(it->total));
    }
    return {};
  }

  const ReplanAsk& ask_;
  Replan& result_;
  bool caps_too_ = false;
  std::vector<Around> around_;
  std::vector<Stretch> stretches_;  ///< between changes that alter something
  std::vector<size_t> around_of_;   ///< by stretch
};

}  // namespace

std::string_view to_word(ReplanDoes does) {
  switch (does) {
    case ReplanDoes::kGoesOn: return "goes on";
    case ReplanDoes::kSetsCaps: return "sets caps";
    case ReplanDoes::kLiftsCaps: return "lifts caps";
    case ReplanDoes::kRestarts: return "restarts";
  }
  ERGOMETER_CHECK(false, "everything that is done at a change is listed");
}

double transient_steps(const std::vector<double>& rates, const std::vector<double>& works_s) {
  double steps = 0;
  for (size_t i = 1; i < rates.size(); ++i)
    steps += std::min(kTransientS, works_s[i]) * std::abs(rates[i] - rates[i - 1]);
  return steps;
}

double ReplanStretch::gain_pct() const {
  const double now = kept.steps_per_s(), then = proposed_play.steps_per_s();
  if (now == 0) return then > 0 ? 100 : 0;
  return 100 * (then / now - 1);
}

std::optional<double> break_even_s(double kept, double other, double restart_s) {
  if (other <= kept) return std::nullopt;
  return restart_s * other / (other - kept);
}

std::vector<size_t> best_sequence(const std::vector<std::vector<double>>& rates,
                                  const std::vector<double>& seconds, double restart_s) {
  const size_t layouts = rates.front().size();
  std::vector<double> steps(layouts, 0);  // the most with which a stretch can be left in a layout
  std::vector<std::vector<size_t>> came_from;
  for (size_t i = 0; i < rates.size(); ++i) {
    std::vector<double> next;
    came_from.emplace_back();
    for (size_t to = 0; to < layouts; ++to) {
      size_t from = to;
      double most = steps[to] + seconds[i] * rates[i][to];
      const double left_s = seconds[i] - restart_s;
      for (size_t other = 0; i > 0 && left_s > 0 && other < layouts; ++other)
        if (const double with = steps[other] + left_s * rates[i][to]; other != to && with > most) {
          most = with;
          from = other;
        }
      next.push_back(most);
      came_from.back().push_back(from);
    }
    steps = std::move(next);
  }
  std::vector<size_t> sequence(rates.size());
  size_t layout = static_cast<size_t>(std::ranges::max_element(steps) - steps.begin());
  for (size_t i = rates.size(); i-- > 0;) {
    sequence[i] = layout;
    layout = came_from[i][layout];
  }
  return sequence;
}

Result<Replan> replan(const spec::Settings& job, const ReplanAsk& ask) {
  Replan result;
  ERGOMETER_ASSIGN(result.job, spec::resolve(job));
  ERGOMETER_TRY(check_replannable(result.job));
  result.length_s = ask.stretches.back().to_s;
  result.restart_given = ask.restart_s.has_value();
  result.restart_s = ask.restart_s ? *ask.restart_s : assumed_restart_s(result.job);
  result.layouts.push_back({{}, result.job});
  ReplanSearch search(ask, result);
  ERGOMETER_TRY(search.run());
  drop_unused_layouts(result);
  return result;
}

}  // namespace ergometer::campaign
