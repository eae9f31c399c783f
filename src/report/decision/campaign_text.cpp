#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/wrap.h"
#include "report/decision/campaign_output.h"
#include "report/format.h"
#include "spec/job/node_groups.h"
#include "workload/sequence_loads.h"

namespace ergometer::report {
namespace {

using campaign::Campaign;
using campaign::date_after;
using campaign::Estimate;
using campaign::kDayS;

constexpr size_t kIndent = 13;

/// "Days         31.2 (90 %: 27 to 36)", continued below itself.
std::string fact(std::string_view name, const std::string& text) {
  return base::hanging(fmt::format("{:<{}}", name, kIndent), text, kWidth);
}

template <class Format>
std::string with_interval(const Estimate& estimate, const Format& format) {
  return fmt::format("{} ({} to {}, 90 %)", format(estimate.median), format(estimate.low),
                     format(estimate.high));
}

std::string days(double count) {
  return count < 1 ? base::format_seconds(count * kDayS)
                   : fmt::format("{:.{}f} days", count, count < 100 ? 1 : 0);
}
std::string count(double number) { return base::format_count(std::llround(number)); }
std::string amount(double number) { return base::format_si(number); }
std::string energy(double mwh) { return base::format_si(mwh * 1e6, "Wh"); }
/// Three digits of what is small: a tenth of a tonne is not none.
std::string measure(double number) {
  return number < 100 ? fmt::format("{:.3g}", number) : count(number);
}
std::string cubic_metres(double m3) { return measure(m3) + " m3"; }
std::string tonnes(double t) { return measure(t) + " t CO2"; }

/// What the building's limit makes of the longest phase's step.
std::string under_limit(const campaign::Training& training) {
  const auto& longest = std::ranges::max(training.phases, {}, &campaign::PlayedPhase::training_s);
  if (longest.step_s <= longest.unlimited_step_s) return "";
  return fmt::format(", {} under the building's limit", base::format_seconds(longest.step_s));
}

std::string what_runs(const Campaign& campaign) {
  const spec::Job& job = campaign.training.job;
  const spec::Parallelism& p = job.parallelism;
  const run::Performance& step = campaign.training.step;
  std::string text =
      wrap(
          fmt::format("{}, {} {} on {} x {}, {} ({})", job.model.name, amount(campaign.tokens()),
                      campaign.tokens() == 1 ? "token" : "tokens", job.gpus,
                      spec::gpus_text(job.cluster), job.cluster.name, counted(job.nodes(), "node")),
          kWidth, 0) +
      fmt::format("\nTP {}, CP {}, PP {}, DP {}, global batch {}, sequence {}\n", p.tp, p.cp, p.pp,
                  p.dp, job.training.global_batch, job.training.seq_length) +
      (job.training.least_batch
           ? "no batch was given (--gbs): the least is taken, whose tokens take longest\n"
           : "") +
      fmt::format("step {} ({} to {}, 90 %){}\n", base::format_seconds(step.step_time_s),
                  base::format_seconds(step.step_time_s_low),
                  base::format_seconds(step.step_time_s_high), under_limit(campaign.training));
  const run::Memory& memory = campaign.training.memory;
  if (!memory.fits)
    text += wrap(memory.advice, kWidth, 0) + "\nThe run below is that of the job if it did fit.\n";
  return text + '\n';
}

std::string energy_text(const Campaign& campaign, const campaign::Prices& prices) {
  if (!campaign.training.has_power) return fact("Energy", "nothing is known of this job's power");
  std::string text = fact(
      "Energy",
      fmt::format("{} at the meter, PUE {:g}; {} at the nodes' plugs, {} at the GPUs",
                  with_interval(campaign.energy_mwh, energy), campaign.training.job.conditions.pue,
                  energy(campaign.plug_mwh.median), energy(campaign.chip_mwh.median)));
  if (!prices.carbon_g_per_kwh.empty())
    text += fact("Carbon", with_interval(campaign.co2_t, tonnes));
  if (prices.water_l_per_kwh) text += fact("Water", with_interval(campaign.water_m3, cubic_metres));
  return text;
}

std::string answer(const Campaign& campaign, const campaign::Ask& ask) {
  const campaign::Prices& prices = ask.prices;
  std::string text = fact("Ready in", with_interval(campaign.days, days));
  const auto date = [&](double after) { return date_after(*ask.start, after); };
  if (ask.start) text += fact("Finish", with_interval(campaign.days, date));
  text += fact("GPU-hours", with_interval(campaign.gpu_hours, amount) +
                                (campaign.spare_nodes > 0
                                     ? fmt::format(", with {:g} spare node{}", campaign.spare_nodes,
                                                   campaign.spare_nodes == 1 ? "" : "s")
                                     : ""));
  text += energy_text(campaign, prices);
  if (prices.gpu_hour || prices.kwh) text += fact("Cost", with_interval(campaign.cost, amount));
  text += fact("Goodput", with_interval(campaign.goodput, base::format_percent) +
                              ": training that counts, of the wall time; in closed form " +
                              base::format_percent(campaign.closed_form_goodput) +
                              (ask.spares ? ", if spares never ran out" : ""));
  return text;
}

std::string limits(const Campaign& campaign, const campaign::Ask& ask) {
  std::string text;
  if (ask.deadline_s > 0)
    text += fact("Deadline", fmt::format("{}: met in {} of the draws", days(ask.deadline_s / kDayS),
                                         base::format_percent(campaign.deadline_share)));
  if (ask.budget > 0)
    text += fact("Budget", fmt::format("{}: met in {} of the draws", amount(ask.budget),
                                       base::format_percent(campaign.budget_share)));
  if (!ask.limit_w.empty()) {
    const auto [low, high] = std::ranges::minmax_element(ask.limit_w);
    const std::string range = *low == *high ? base::format_si(*low, "W")
                                            : fmt::format("{} to {}", base::format_si(*low, "W"),
                                                          base::format_si(*high, "W"));
    text += fact("Power limit", fmt::format("{} at the meter costs {}", range,
                                            days(std::max(0.0, campaign.limit_days))));
  }
  return text;
}

std::string bar(double share, const TextStyle& style) {
  constexpr double kCells = 30;
  const auto cells = static_cast<size_t>(std::llround(std::clamp(share, 0.0, 1.0) * kCells));
  std::string text;
  for (size_t i = 0; i < static_cast<size_t>(kCells); ++i)
    text += i < cells ? (style.unicode ? "█" : "#") : (style.unicode ? "·" : ".");
  return text;
}

std::string where_days_go(const Campaign& campaign, const TextStyle& style) {
  std::string text = heading(
      style, fmt::format("Where the days go (mean of the draws, {})", days(campaign.mean_days)));
  for (const campaign::Part& part : campaign.parts) {
    if (part.days <= 0) continue;
    const double share = part.days / campaign.mean_days;
    text += fmt::format("  {:<20}{}{:>14}{:>9}\n", part.name, bar(share, style), days(part.days),
                        format_share(share));
  }
  return text;
}

std::string phases_text(const Campaign& campaign, const TextStyle& style) {
  const auto& phases = campaign.training.phases;
  if (phases.size() < 2) return "";
  base::Table table("<2 >10 >10 >10 >10 >10 >12");
  table.row("Phase", "tokens", "sequence", "batch", "steps", "step", "training");
  for (const campaign::PlayedPhase& phase : phases)
    table.add({phase.name, amount(phase.tokens), std::to_string(phase.seq_length),
               std::to_string(phase.global_batch), count(phase.steps),
               base::format_seconds(phase.step_s), days(phase.training_s() / kDayS)});
  return '\n' + table_text(table, style);
}

/// Work is divided into equal intervals, which are hardly ever what was given.
std::string how_often(const campaign::Kept& kept) {
  const std::string every = fmt::format("every {}", base::format_seconds(kept.interval_s));
  const std::string asked = base::format_seconds(kept.asked_s);
  if (!kept.given) return every + " (best)";
  if (kept.count <= 1 && kept.asked_s > kept.interval_s)
    return fmt::format("at the end, after {} (given: every {})",
                       base::format_seconds(kept.interval_s), asked);
  if (asked == base::format_seconds(kept.interval_s)) return every + " (given)";
  return fmt::format("{} (given: {}; the work makes {} equal intervals)", every, asked,
                     count(kept.count));
}

std::string how_kept(const Campaign& campaign, const campaign::Ask& ask) {
  const campaign::Kept& kept = campaign.kept;
  const std::string stands = fmt::format("training stands {}", base::format_seconds(kept.stop_s));
  const std::string size = base::format_bytes(kept.bytes);
  if (!ask.failures.any() && !kept.given) return fmt::format("{} at the end; {}", size, stands);
  std::string text = fmt::format("{} {}, {}", size, how_often(kept), stands);
  if (kept.write_s > 0)
    text += fmt::format(" and it is written {} later", base::format_seconds(kept.write_s));
  if (!ask.failures.any()) return text;
  if (kept.given) text += fmt::format("; best {}", base::format_seconds(kept.best_s));
  text += fmt::format("; Young {}, Daly {}", base::format_seconds(kept.young_s),
                      base::format_seconds(kept.daly_s));
  if (kept.simulated_s.median > 0)
    text += fmt::format("; played: {} to {} cost 0.1 % at most",
                        base::format_seconds(kept.simulated_s.low),
                        base::format_seconds(kept.simulated_s.high));
  return text;
}

std::string what_fails(const Campaign& campaign, const campaign::Ask& ask) {
  if (!ask.failures.any()) return "none: --failures none";
  return fmt::format("{}, one in {}", with_interval(campaign.failures, count),
                     base::format_seconds(campaign.mtbf_s));
}

std::string kind_line(const campaign::FailureKind& kind) {
  std::string text = fmt::format(
      "{}: {} of failures, seen after {}, restart {}", kind.name, base::format_percent(kind.share),
      base::format_seconds(kind.detection_s), base::format_seconds(kind.restart_s));
  if (kind.takes_node()) text += fmt::format(", repair {}", days(kind.repair_s / kDayS));
  return text;
}

std::vector<std::string> failure_lines(const campaign::Ask& ask) {
  const campaign::Failures& failures = ask.failures;
  if (!failures.any()) return {};
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "a GPU with its share of the node is interrupted every {} h ({})",
      count(1 / failures.per_gpu_hour),
      failures.given ? failures.source
                     : fmt::format("{}: {}", to_string(failures.grade), failures.source)));
  if (failures.spread > 1)
    lines.push_back(
        fmt::format("the true rate within a factor of {:g} (assumed)", failures.spread));
  for (const campaign::FailureKind& kind : failures.kinds) lines.push_back(kind_line(kind));
  if (!ask.spares) lines.push_back("a spare node is always there; --spares N says how many");
  return lines;
}

std::vector<std::string> keeping_lines(const campaign::Checkpointing& keeping) {
  std::vector<std::string> lines;
  if (keeping.storage_bytes_per_s <= 0)
    lines.push_back(fmt::format("storage takes {}/s a node (assumed); --storage says yours",
                                base::format_bytes(campaign::kAssumedNodeStorage)));
  if (keeping.hidden && keeping.snapshot_bytes_per_s <= 0)
    lines.push_back(fmt::format("a GPU copies {}/s to its host (assumed); --snapshot says yours",
                                base::format_bytes(campaign::kAssumedSnapshot)));
  return lines;
}

std::string rests_on(const Campaign& campaign, const campaign::Ask& ask) {
  std::vector<std::string> lines = failure_lines(ask);
  for (std::string& line : keeping_lines(ask.checkpointing)) lines.push_back(std::move(line));
  const std::vector<std::string>& reasons = campaign.training.step.interval_reasons;
  if (!campaign.training.job.training.sequence_lengths.is_even())
    lines.push_back(fmt::format("a step is the mean of {} drawn ones", workload::kDrawnSteps));
  if (!reasons.empty()) lines.push_back(fmt::format("step time: {}", fmt::join(reasons, "; ")));
  std::string text;
  for (const std::string& line : lines) text += "  " + wrap(line, kWidth - 2, 4) + '\n';
  return text;
}

std::string whole(const Campaign& campaign, const campaign::Ask& ask, const TextStyle& style) {
  std::string text = what_runs(campaign) + answer(campaign, ask) + limits(campaign, ask);
  text += '\n' + where_days_go(campaign, style) + phases_text(campaign, style) + '\n';
  text += fact("Checkpoint", how_kept(campaign, ask));
  text += fact("Failures", what_fails(campaign, ask));
  return text + '\n' + heading(style, "Rests on") + rests_on(campaign, ask);
}

std::string meets_word(const campaign::Sizes& sizes, size_t i, const campaign::Ask& ask) {
  if (ask.deadline_s <= 0 && ask.budget <= 0)
    return sizes.campaigns[i].training.memory.fits ? "" : "does not fit";
  if (!sizes.campaigns[i].training.memory.fits) return "does not fit";
  return sizes.meets[i] ? "yes" : "no";
}

std::string sizes_table(const campaign::Sizes& sizes, const campaign::Ask& ask,
                        const TextStyle& style) {
  const bool paid = ask.prices.gpu_hour || ask.prices.kwh;
  base::Table table("<2 >6 >10 >8 >9 >10 >10 <2");
  table.row("GPUs", "DP", "days", "to", "goodput", "energy", paid ? "cost" : "",
            ask.deadline_s > 0 || ask.budget > 0 ? "meets" : "");
  for (size_t i = 0; i < sizes.campaigns.size(); ++i) {
    const Campaign& each = sizes.campaigns[i];
    if (!each.refusal.empty()) continue;
    table.add({base::format_count(each.gpus()), std::to_string(each.training.job.parallelism.dp),
               fmt::format("{:.1f}", each.days.median), fmt::format("{:.1f}", each.days.high),
               base::format_percent(each.goodput.median), energy(each.energy_mwh.median),
               paid ? amount(each.cost.median) : "", meets_word(sizes, i, ask)});
  }
  std::string text = table_text(table, style);
  for (const Campaign& each : sizes.campaigns)
    if (!each.refusal.empty())
      text += base::hanging(fmt::format("{}  no such job: ", base::format_count(each.gpus())),
                            each.refusal, kWidth);
  return text;
}

std::string marginals_table(const campaign::Sizes& sizes, const campaign::Ask& ask,
                            const TextStyle& style) {
  const bool paid = ask.prices.gpu_hour || ask.prices.kwh;
  base::Table table("<2 >11 >15 >15 >12 >14");
  table.row("More GPUs", "days saved", "next 1,000 save", "tokens/s a GPU", "tokens/J",
            paid ? "cost a day" : "");
  for (const campaign::Marginal& one : sizes.marginals)
    table.add({fmt::format("{} to {}", base::format_count(one.from), base::format_count(one.to)),
               fmt::format("{:.1f}", one.days), fmt::format("{:.1f}", one.days_by_next_1000),
               fmt::format("{:.1f}", one.tokens_per_s_per_gpu),
               one.tokens_per_j > 0 ? fmt::format("{:.3g}", one.tokens_per_j) : "-",
               paid ? (one.days > 0 ? amount(one.cost_per_day) : "-") : ""});
  return '\n' + table_text(table, style);
}

std::string verdict(const campaign::Sizes& sizes, const campaign::Ask& ask) {
  if (ask.deadline_s <= 0 && ask.budget <= 0) return "";
  const std::string what = ask.budget <= 0       ? "the deadline"
                           : ask.deadline_s <= 0 ? "the budget"
                                                 : "deadline and budget";
  if (!sizes.any_meets()) return fmt::format("No size meets {} in 90 % of the draws\n\n", what);
  if (sizes.campaigns.size() < 2) return "";
  return fmt::format("{} GPUs are the fewest that meet {} in 90 % of the draws\n\n",
                     base::format_count(sizes.campaigns[sizes.chosen].gpus()), what);
}

}  // namespace

std::string campaign_text(const campaign::Sizes& sizes, const campaign::Ask& ask,
                          const TextStyle& style) {
  std::string text = verdict(sizes, ask) + whole(sizes.campaigns[sizes.chosen], ask, style);
  if (sizes.campaigns.size() < 2) return text;
  text += '\n' + sizes_table(sizes, ask, style);
  if (!sizes.marginals.empty()) text += marginals_table(sizes, ask, style);
  return text;
}

}  // namespace ergometer::report
