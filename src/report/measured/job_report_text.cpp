#include "report/measured/job_report_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/telemetry/gpu_names.h"
#include "analysis/telemetry/moment.h"
#include "base/collection.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/energy_error_output.h"
#include "report/measured/first_rows.h"
#include "report/measured/pipeline_output.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

constexpr size_t kJobRowsShown = 8;

std::string time(int64_t ns) { return base::format_nanoseconds(ns); }
std::string time(double seconds) { return base::format_seconds(seconds); }

// --- clocks

std::string clocks(const analysis::JobReport& report, const TextStyle& style) {
  std::string rows;
  size_t count = 0;
  for (const analysis::RankClock& clock : report.clocks.ranks) {
    if (!clock.applied || ++count > kJobRowsShown) continue;
    rows += fmt::format("  {:>5}{:>14}{:>14}{:>14}\n", clock.rank,
                        fmt::format("{:+.3f} ms", clock.model.offset_ns * 1e-6),
                        fmt::format("{:+.2f} ppm", clock.model.drift_ppm),
                        fmt::format("{:.3f} ms", clock.model.uncertainty_ns * 1e-6));
  }
  if (rows.empty()) return "";
  return heading(style, fmt::format("Clocks beside rank {}'s, by the ends of collectives",
                                    report.clocks.reference)) +
         fmt::format("  {:>5}{:>14}{:>14}{:>14}\n", "rank", "offset", "drift", "within") + rows +
         more_line(count, kJobRowsShown, "ranks") +
         note(style, "all times below are brought together by these");
}

// --- the critical path

std::string path(const analysis::CriticalPath& path, const TextStyle& style) {
  if (path.span_ns == 0) return "";
  base::Table table("<34 >12 >9 >19");
  table.row("Critical path of " + time(path.span_ns), "time", "share", "shorter if free");
  for (const analysis::PathShare& kind : first(path.kinds, kJobRowsShown)) {
    table.row("  " + kind.kind, time(kind.on_path_ns), format_share(kind.on_path_ns, path.span_ns),
              kind.saved_if_free_ns < 0 ? "-" : time(kind.saved_if_free_ns));
  }
  std::string out = table_text(table, style) + more_line(path.kinds.size(), kJobRowsShown, "kinds");
  if (path.ranks.size() < 2) return out;
  std::vector<std::string> ranks;
  for (const analysis::PathRank& rank : first(path.ranks, kJobRowsShown))
    ranks.push_back(fmt::format("{} ({})", rank.rank, format_share(rank.on_path_ns, path.span_ns)));
  return out + paragraph(fmt::format("on ranks {}", fmt::join(ranks, ", ")));
}

// --- taxes

std::string replayed_taxes(const analysis::ReplayedTaxes& taxes, const TextStyle& style) {
  if (taxes.gap_ns() <= 0) return "";
  base::Table table("<34 >12 >9 >19");
  const auto in_time = [](double ns) { return time(static_cast<int64_t>(ns)); };
  const auto share = [&](std::string_view name, double ns, const std::string& alone) {
    if (ns > 0) table.row(name, in_time(ns), format_share(ns / taxes.span_ns), alone);
  };
  const auto tax = [&](std::string_view name, const analysis::ReplayedTax& of) {
    share(name, of.share_ns, in_time(taxes.span_ns - of.without_ns));
  };
  table.row("Taxes that add up, by replays", "time", "share", "shorter without");
  tax("  bulk synchrony", taxes.bulk_synchrony);
  for (const auto& [name, ns] : first(taxes.sites, kJobRowsShown)) share("    " + name, ns, "");
  tax("    CPU waiting for the GPU", taxes.host_sync);
  tax("  memory round trips (at most)", taxes.memory_round_trips);
  tax("  launch", taxes.launch);
  share("  all of them", taxes.gap_ns(), in_time(taxes.gap_ns()));
  return table_text(table, style) + more_line(taxes.sites.size(), kJobRowsShown, "waits");
}

// --- communication

std::string parallelisms(const analysis::GroupTables& tables, const TextStyle& style) {
  const bool known = std::ranges::any_of(
      tables.parallelisms, [](const auto& row) { return row.parallelism.name != "?"; });
  if (!known) return "";
  base::Table table("<20 >7 >10 >10 >10 >11 >11");
  table.row("Communication by", "kernels", "time", "hidden", "exposed", "waiting", "transfer");
  bool inferred = false;
  for (const analysis::GroupRow& row : tables.parallelisms) {
    inferred = inferred || (!row.parallelism.stated && row.parallelism.name != "?");
    const std::string name = row.parallelism.name == "?" ? "not known"
                             : row.parallelism.stated    ? row.parallelism.name
                                                         : row.parallelism.name + " (inferred)";
    table.row("  " + name, row.events, time(row.total_ns), time(row.hidden_ns),
              time(row.exposed_ns), row.matched > 0 ? time(row.waiting_ns) : "-",
              row.matched > 0 ? time(row.transfer_ns) : "-");
  }
  return table_text(table, style) +
         note(style, "sums over ranks; waiting and transfer of collectives found on several ranks" +
                         std::string(inferred ? "; inferred: by what the group does" : ""));
}

std::string group_name(const analysis::GroupSkew& skew) {
  std::string name = skew.parallelism.name.empty() ? "?" : skew.parallelism.name;
  if (skew.members.size() <= 4) return fmt::format("{} {}", name, fmt::join(skew.members, ","));
  return fmt::format("{} {}..{} ({})", name, skew.members.front(), skew.members.back(),
                     skew.members.size());
}

std::string verdict(const analysis::GroupSkew& skew) {
  using analysis::GroupVerdict;
  switch (skew.verdict) {
    case GroupVerdict::kStraggler:
      return fmt::format("rank {} late{}", skew.rank,
                         skew.cause == analysis::LateCause::kUnknown
                             ? ""
                             : fmt::format(" ({})", to_word(skew.cause)));
    case GroupVerdict::kMovingStraggler: return "different ranks late";
    case GroupVerdict::kCongested: return fmt::format("slow transfer x{:.1f}", skew.slowdown);
    case GroupVerdict::kBalanced: break;
  }
  return "";
}

std::string groups(const std::vector<analysis::GroupSkew>& skews, const TextStyle& style) {
  if (skews.empty()) return "";
  base::Table table("<20 >7 >10 >10 >8 <");
  table.row("Who waits for whom", "count", "waiting", "transfer", "GB/s", "why");
  for (const analysis::GroupSkew& skew : first(skews, kJobRowsShown)) {
    table.row("  " + group_name(skew), skew.collectives, time(skew.waiting_ns),
              time(skew.transfer_ns),
              skew.mean_bus_gb_per_s > 0 ? fmt::format("{:.1f}", skew.mean_bus_gb_per_s) : "-",
              verdict(skew));
  }
  return table_text(table, style) + more_line(skews.size(), kJobRowsShown, "groups") +
         note(style, "waiting: sum over ranks; transfer: from the last arrival to the first end");
}

// --- links, power, changes

std::string links(const std::vector<analysis::LinkUse>& all, const TextStyle& style) {
  if (all.empty()) return "";
  base::Table table("<20 >9 >11 >11 >11 >16 <");
  table.row("Links (counters)", "devices", "bytes", "mean GB/s", "peak GB/s", "> 90 %");
  for (const analysis::LinkUse& link : all)
    table.row("  " + link.kind + " " + link.direction, link.devices, base::format_bytes(link.bytes),
              fmt::format("{:.2f}", link.mean_gb_per_s), fmt::format("{:.2f}", link.peak_gb_per_s),
              link.saturated_fraction ? format_share(*link.saturated_fraction) : "-",
              link.partial ? "link 0 alone" : "");
  return table_text(table, style);
}

std::string swings(const std::vector<analysis::PowerSwings>& all, const TextStyle& style) {
  // A steady device needs no row.
  constexpr double kTold = 0.1;
  const auto name_of = [](const analysis::PowerSwings& s) {
    return s.kind == run::DeviceKind::kGpu ? s.label : s.name;
  };
  const size_t width = base::largest(
      all, size_t{10}, [&](const analysis::PowerSwings& s) { return name_of(s).size(); });
  std::string rows;
  size_t count = 0;
  for (const analysis::PowerSwings& s : all) {
    const bool moves = std::ranges::any_of(s.swings, [&](const auto& swing) {
      return std::max(swing.rise_w, swing.fall_w) > kTold * s.mean_w;
    });
    if (!moves || ++count > kJobRowsShown) continue;
    std::string row =
        fmt::format("  {:<{}}{:>10}", name_of(s), width,
                    s.mean_w > 0 ? fmt::format("{:.0f} %", 100 * s.deviation_w / s.mean_w) : "-");
    for (const analysis::Swing& swing : s.swings)
      row += fmt::format("  {} up, {} down in {}", base::format_si(swing.rise_w, "W"),
                         base::format_si(swing.fall_w, "W"), time(swing.over_s));
    rows += row + '\n';
  }
  if (rows.empty()) return "";
  return heading(style, fmt::format("{:<{}}{:>10}  {}", "Power swings", width + 2, "deviation",
                                    "largest")) +
         rows + more_line(count, kJobRowsShown, "devices");
}

std::string step_energy(const std::vector<analysis::StepEnergy>& all, const TextStyle& style) {
  if (all.empty()) return "";
  std::vector<run::MeasuredEnergy> energies;
  double sum = 0;
  const analysis::StepEnergy *lowest = &all.front(), *highest = &all.front();
  for (const analysis::StepEnergy& energy : all) {
    sum += energy.mean_j;
    energies.push_back({energy.mean_j, energy.error});
    if (energy.mean_j < lowest->mean_j) lowest = &energy;
    if (energy.mean_j > highest->mean_j) highest = &energy;
  }
  std::string out = heading(
      style, fmt::format("Energy of a step  {}{} on {}", format_quantity(sum, "J"),
                         plus_minus(run::error_of_sum(energies)), counted(all.size(), "GPU")));
  if (all.size() > 1)
    out += fmt::format("  least {} (rank {}), most {} (rank {})\n",
                       format_quantity(lowest->mean_j, "J"), lowest->rank,
                       format_quantity(highest->mean_j, "J"), highest->rank);
  return out;
}

std::string shifted(const analysis::LevelShift& shift) {
  if (shift.step < 0) return analysis::begin_sentence(shift.gpu);
  return shift.rank < 0 ? "job" : fmt::format("rank {}", shift.rank);
}

std::string shift_line(const analysis::LevelShift& shift, size_t width) {
  const std::string who = fmt::format("  {:<{}}", shifted(shift), width);
  if (shift.step >= 0)
    return fmt::format("{}step time {} to {} from step {} on\n", who, time(shift.before),
                       time(shift.after), shift.step);
  return fmt::format("{}{} {:.4g} to {:.4g} at {}\n", who, shift.what, shift.before, shift.after,
                     analysis::format_moment(shift.time_ns));
}

std::string changes(const analysis::Anomalies& anomalies, const TextStyle& style) {
  if (anomalies.shifts.empty()) return "";
  const auto shown = first(anomalies.shifts, kJobRowsShown);
  size_t width = 12;
  for (const analysis::LevelShift& shift : shown)
    width = std::max(width, shifted(shift).size() + 2);
  std::string rows;
  for (const analysis::LevelShift& shift : shown) rows += shift_line(shift, width);
  return heading(style, fmt::format("Changes of level ({} series looked at)", anomalies.series)) +
         rows + more_line(anomalies.shifts.size(), kJobRowsShown, "changes");
}

std::string exchanges(const analysis::ExchangeLoads& loads, const TextStyle& style) {
  if (loads.even()) return "";
  std::string rows = fmt::format(
      "  the fullest rank of an exchange has {:.2f} times its share on average, {:.2f} at most\n",
      loads.mean_fullest, loads.most);
  for (const auto& rank : first(loads.ranks, kJobRowsShown))
    rows += fmt::format("  {:>5}{:>9.2f}\n", rank.rank, rank.load);
  return heading(style, fmt::format("Tokens in {} all-to-alls, by rank in shares of the mean",
                                    loads.exchanges)) +
         rows + more_line(loads.ranks.size(), kJobRowsShown, "ranks");
}

}  // namespace

std::string job_report_text(const analysis::JobReport& report, const TextStyle& style) {
  return sections({clocks(report, style), path(report.path, style),
                   replayed_taxes(report.taxes, style), parallelisms(report.groups, style),
                   exchanges(report.exchanges, style), groups(report.skews, style),
                   report.pipeline ? pipeline_text(*report.pipeline, style) : "",
                   links(report.links, style), swings(report.swings, style),
                   step_energy(report.step_energies, style), changes(report.anomalies, style)});
}

}  // namespace ergometer::report
