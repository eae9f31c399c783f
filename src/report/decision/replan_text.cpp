#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "base/text.h"
#include "engine/outcome/summary.h"
#include "report/decision/replan_output.h"
#include "report/format.h"

namespace ergometer::report {
namespace {

using campaign::Replan;
using campaign::ReplanDoes;
using campaign::ReplanPlay;
using campaign::ReplanStretch;

/// "4:30", hours and minutes of the run.
std::string clock_text(double seconds) {
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  return fmt::format("{}:{:02}", minutes / 60, minutes % 60);
}

/// A, B, ..., Z, #26, ...
std::string layout_name(size_t layout) {
  constexpr size_t kLetters = 26;
  return layout < kLetters ? std::string(1, static_cast<char>('A' + layout))
                           : fmt::format("#{}", layout);
}

std::string what_is_replanned(const Replan& replan) {
  const std::string restart =
      fmt::format("a change of layout stops training for {}{}",
                  base::format_seconds(replan.restart_s), replan.restart_given ? "" : " (assumed)");
  return wrap(fmt::format("{} on {} x {} ({}) for {}: {}", replan.job.model.name, replan.job.gpus,
                          replan.job.cluster.node.gpu.name, replan.job.cluster.name,
                          base::format_seconds(replan.length_s), restart),
              kWidth, 0) +
         '\n';
}

std::vector<std::string> cells_of(const ReplanPlay& played) {
  if (played.shutdown_gpus > 0) return {"stands", "heat turns GPUs off"};
  return {base::format_seconds(played.step_s), fmt::format("{:.1f} C", played.max_c),
          format_share(played.throttled_fraction), base::format_si(played.cluster_w, "W")};
}

std::string as_it_is_table(const Replan& replan, const TextStyle& style) {
  base::Table table(">6 >7 >10 >9 >11 >10 >9");
  table.row("from", "to", "step", "hottest", "throttled", "power", "tokens");
  for (const ReplanStretch& it : replan.stretches) {
    std::vector<std::string> row = {clock_text(it.from_s), clock_text(it.to_s)};
    for (std::string& cell : cells_of(it.unchanged)) row.push_back(std::move(cell));
    if (it.unchanged.shutdown_gpus == 0)
      row.push_back(base::format_si(it.seconds() * it.unchanged.steps_per_s() *
                                    engine::tokens_per_step(replan.job)));
    table.add(std::move(row));
  }
  return heading(style, "As it is") + table_text(table, style, 2);
}

std::string changes_list(const Replan& replan, const TextStyle& style) {
  std::string text = heading(style, "Conditions");
  for (const ReplanStretch& it : replan.stretches)
    text += base::hanging(
        fmt::format("  {:>5}  ", clock_text(it.from_s)),
        it.changes.empty() ? "as the job says" : fmt::format("{}", fmt::join(it.changes, "; ")),
        kWidth);
  return text;
}

/// "sets caps of 295 to 380 W".
std::string caps_text(const ReplanPlay& played) {
  const auto [low, high] =
      std::ranges::minmax_element(played.caps.gpus, {}, &optimize::GpuSetting::cap_w);
  return fmt::format("sets caps of {:.0f} to {:.0f} W", low->cap_w, high->cap_w);
}

/// "restarts: +12.4 %, pays after 42.0 min of 3.50 h".
std::string decision_text(const ReplanStretch& it, bool first) {
  const std::string does(it.does == ReplanDoes::kSetsCaps ? caps_text(it.kept)
                                                          : campaign::to_word(it.does));
  if (first)
    return it.gain_pct() > 0 ? fmt::format("starts; {} missed", format_change(it.gain_pct() / 100))
                             : "starts";
  if (!it.break_even_s) return does;
  return fmt::format("{}; {}, pays after {} of {}", does, format_change(it.gain_pct() / 100),
                     base::format_seconds(*it.break_even_s), base::format_seconds(it.seconds()));
}

std::string replanned_table(const Replan& replan, const TextStyle& style) {
  base::Table table(">6 >8 >10 >8 >10 <");
  table.row("from", "has", "step", "best", "step", "does");
  for (const ReplanStretch& it : replan.stretches) {
    const auto step = [](const ReplanPlay& played) { return cells_of(played).front(); };
    const auto named = [&](size_t layout, const ReplanPlay& played) {
      return layout_name(layout) + (played.caps.gpus.empty() ? "" : "+caps");
    };
    table.row(clock_text(it.from_s), named(it.before, it.kept), step(it.kept),
              named(it.proposed, it.proposed_play), step(it.proposed_play),
              decision_text(it, it.from_s == 0));
  }
  return heading(style, "Planned anew at every change") + table_text(table, style);
}

std::string layouts_list(const Replan& replan, const TextStyle& style) {
  std::string text = heading(style, "Layouts");
  for (size_t i = 0; i < replan.layouts.size(); ++i)
    text += base::hanging(
        fmt::format("  {}  ", layout_name(i)),
        i == 0 ? "as the job is" : fmt::format("{}", fmt::join(replan.layouts[i].changes, "; ")),
        kWidth);
  return text;
}

/// The most that a total may be off by, for what its stretches leave out.
double transients_pct(const Replan& replan) {
  double most = 0;
  for (const campaign::ReplanTotal& total : replan.totals)
    if (total.tokens > 0) most = std::max(most, 100 * total.transient_tokens / total.tokens);
  return most;
}

/// What the totals count, and what they leave out.
std::string totals_notes(const Replan& replan, const TextStyle& style) {
  if (replan.stretches.size() == 1)
    return note(style,
                "nothing changes while it runs: there is nothing to plan anew. Settled states");
  const double most_pct = transients_pct(replan);
  return note(style,
              "re-planned: a restart counts against its own stretch alone; what comes behind is "
              "not known") +
         note(style,
              "known ahead: the best of these layouts by stretch, the first one chosen before the "
              "start") +
         note(style,
              fmt::format(
                  "settled states: the minutes in which GPUs warm or cool (assumed: {} "
                  "behind a change) may change tokens by {}",
                  base::format_seconds(campaign::kTransientS),
                  most_pct < 0.05 ? "less than 0.1 %" : fmt::format("up to {:.1f} %", most_pct)));
}

std::string totals_table(const Replan& replan, const TextStyle& style) {
  base::Table table("<13 >8 >9 >10 >10 >9 <");
  table.row("", "tokens", "", "energy", "tokens/J", "restarts", "layouts");
  const double tokens = replan.totals.front().tokens;
  for (const campaign::ReplanTotal& total : replan.totals) {
    const std::vector<std::string> layouts = base::mapped(total.layouts, layout_name);
    table.row("  " + total.plan, base::format_si(total.tokens),
              tokens > 0 ? format_change(total.tokens / tokens - 1) : "-",
              base::format_si(total.energy_j, "J"),
              fmt::format("{:.2f}", total.tokens / total.energy_j), total.restarts,
              fmt::format("{}", fmt::join(layouts, " ")));
  }
  return heading(style, "The run") + table_text(table, style) + totals_notes(replan, style);
}

}  // namespace

std::string replan_text(const Replan& replan, const TextStyle& style) {
  return what_is_replanned(replan) + '\n' +
         sections({changes_list(replan, style), as_it_is_table(replan, style),
                   replanned_table(replan, style), layouts_list(replan, style),
                   totals_table(replan, style)});
}

}  // namespace ergometer::report
