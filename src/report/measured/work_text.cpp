#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/energy_error_output.h"
#include "report/measured/first_rows.h"
#include "report/measured/work_report.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

constexpr size_t kOperatorsShown = 10, kEnergyRanksShown = 4, kShapesShown = 5, kLabelWidth = 40;

/// "[[16, 559], [], [559]]" as "16x559 559".
std::string short_shapes(std::string_view shapes) {
  std::string text;
  for (size_t at = 0; at < shapes.size(); ++at) {
    const char c = shapes[at];
    if (c >= '0' && c <= '9') {
      text += c;
    } else if (c == ',' && !text.empty() && text.back() != ' ') {
      text += 'x';
    } else if (c == ']' && !text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// The first tensor's type, as people write it.
std::string short_type(std::string_view dtypes) {
  const size_t open = dtypes.find('"');
  if (open == std::string_view::npos) return "";
  std::string_view type = dtypes.substr(open + 1);
  type = type.substr(0, type.find('"'));
  if (type == "c10::BFloat16") return "bf16";
  if (type == "c10::Half") return "fp16";
  if (type == "float") return "fp32";
  return type.starts_with("c10::") ? std::string(type.substr(5)) : std::string(type);
}

std::string label_of(const analysis::ShapeRow& row) {
  std::string label = row.name.starts_with("aten::") ? row.name.substr(6) : row.name;
  for (const std::string& part : {short_type(row.dtypes), short_shapes(row.shapes)})
    if (!part.empty()) label += ' ' + part;
  return shortened(label, kLabelWidth);
}

/// Three digits of a number that may be large or small; "-" for one that is not known.
std::string figure(double value) {
  if (value <= 0) return "-";
  if (value < 0.01) return "<0.01";
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string rate_text(const analysis::ShapeRow& row) {
  const double low = row.tflops_low(), high = row.tflops_high();
  return low == high ? figure(high) : fmt::format("{}..{}", figure(low), figure(high));
}

std::string roof_text(const analysis::ShapeRow& row, const analysis::TraceSummary& summary) {
  if (!summary.peak) return "";
  const double flops = row.flops_fraction(*summary.peak), bytes = row.bytes_fraction(*summary.peak);
  if (flops <= 0 && bytes <= 0) return "-";
  return fmt::format("{:.0f}%{}", 100 * std::max(flops, bytes), flops >= bytes ? "F" : "B");
}

std::string launches_line(const analysis::TraceSummary& summary) {
  int64_t calls = 0, graphs = 0, graph_events = 0, late = 0, events = 0;
  std::vector<int64_t> call, delay;
  for (const analysis::RankSummary& rank : summary.ranks) {
    calls += rank.launches.calls;
    graphs += rank.launches.graph_calls;
    graph_events += rank.launches.graph_events;
    late += rank.idle.late_events;
    events += rank.breakdown.gpu_events;
    if (rank.launches.events == 0) continue;
    call.push_back(rank.launches.median_call_ns);
    delay.push_back(rank.launches.median_delay_ns);
  }
  if (calls + graphs == 0) return "";
  std::ranges::sort(call);
  std::ranges::sort(delay);
  std::string text = fmt::format("{} launches", base::format_count(calls));
  if (!call.empty())
    text += fmt::format(": a call takes {} (median), its kernel starts {} after it began",
                        base::format_nanoseconds(call[call.size() / 2]),
                        base::format_nanoseconds(delay[delay.size() / 2]));
  text += fmt::format("; {} of all events found the GPU idle when launched",
                      format_share(late, events));
  if (graphs > 0)
    text += fmt::format("; {} graph launches of {} events", base::format_count(graphs),
                        base::format_count(graph_events));
  return text;
}

std::string energy_rows(const std::vector<analysis::EnergyRow>& rows, double measured_j,
                        std::string_view title, const TextStyle& style) {
  std::string out = heading(style, fmt::format("  {:<34}{:>10}{:>9}{:>8}{:>10}{:>7}", title, "time",
                                               "W", "+-", "J", "share"));
  for (const analysis::EnergyRow& row : rows)
    out += fmt::format("  {:<34}{:>10}{:>9.1f}{:>8.1f}{:>10.1f}{:>7}\n", shortened(row.name, 33),
                       base::format_seconds(row.seconds), row.watts, row.watts_error, row.joules,
                       measured_j > 0 ? format_share(row.joules / measured_j) : "-");
  return out;
}

/// What comes to the standard errors of a column of watts.
std::string and_gain(const analysis::RankEnergy& energy) {
  if (!energy.error.stated) return "";
  return fmt::format("; to all rows the error of the sensor comes,{} (90 %{})",
                     plus_minus(energy.gain()), energy.error.known ? "" : "; sensor not known");
}

/// What the columns of watts and their errors say.
std::string watts_note(const analysis::RankEnergy& energy) {
  return fmt::format(
             "W: the whole GPU while it runs; +-: standard error of the regression, which tells "
             "kernels within a window of {} apart by their time alone",
             base::format_seconds(energy.window_s > 0 ? energy.window_s : energy.period_s)) +
         and_gain(energy);
}

std::string rank_energy(const analysis::RankEnergy& energy, const TextStyle& style) {
  std::string out = heading(style, fmt::format("Energy, rank {}", energy.rank));
  if (!energy.device.empty())
    out +=
        note(style, fmt::format("telemetry {} (matched by: {})", energy.device, energy.matched_by));
  if (energy.windows > 0)
    out += paragraph(
        fmt::format("{:.1f} J{} over {}: {:.1f} W; {}, {} windows of {}, lag {}", energy.measured_j,
                    plus_minus(energy.error), base::format_seconds(energy.covered_s), energy.mean_w,
                    energy.metric, energy.windows, base::format_seconds(energy.window_s),
                    base::format_seconds(energy.lag_s)));
  if (energy.steps > 0)
    out += fmt::format("  {:.1f} J{} a step, mean of {}\n", energy.step_j,
                       plus_minus(energy.step_error), energy.steps);
  if (!energy.refused.empty())
    return out + paragraph("No watts by kernel: " + energy.refused + ".");
  out += energy_rows(energy.classes, energy.measured_j, "by class", style);
  constexpr double kShown = 0.05;  // J: less would be "-0.0"
  const double residual = std::abs(energy.residual_j) < kShown ? 0 : energy.residual_j;
  out += fmt::format("  {:<61}{:>10.1f}{:>7}\n", "not explained", residual,
                     energy.measured_j > 0 ? format_share(residual / energy.measured_j) : "-");
  out += energy_rows(energy.phases, energy.measured_j, "by phase, at its classes' watts", style);
  return out + note(style, watts_note(energy));
}

std::string shape_power(const analysis::RankEnergy& energy, const TextStyle& style) {
  if (energy.shapes.empty()) return "";
  base::Table table("<54 >9 >9 >8");
  table.row("  operators that filled whole windows", "windows", "W", "+-");
  for (const analysis::ShapePower& row : first(energy.shapes, kShapesShown)) {
    table.row("  " + shortened(row.name + ' ' + short_shapes(row.shapes), 51), row.windows,
              fmt::format("{:.1f}", row.watts), fmt::format("{:.1f}", row.watts_error));
  }
  return table_text(table, style) +
         note(style, "+-: standard error of the mean of these windows" + and_gain(energy));
}

}  // namespace

std::string phases_text(const analysis::TraceSummary& summary, const TextStyle& style) {
  const analysis::PhaseTable& table = summary.phases;
  if (table.total_ns <= 0) return "";
  const double assigned = table.assigned_fraction();
  if (assigned == 0)
    return heading(style, "Phases") +
           note(style, table.without_autograd
                           ? "not told apart: operators ran without autograd (inference), and no "
                             "range names a phase"
                           : "not told apart: no operators, ranges or kernel names say which");
  base::Table shown("<22 >9 >12 >9 >10 >9 >9");
  shown.row("Phases", "count", "GPU time", "share", "compute", "comm", "copies");
  for (const analysis::PhaseRow& row : table.rows)
    shown.row(fmt::format("  {}", to_word(row.phase)), row.count,
              base::format_nanoseconds(row.total_ns), format_share(row.total_ns, table.total_ns),
              format_share(row.compute_ns, row.total_ns),
              format_share(row.communication_ns, row.total_ns),
              format_share(row.memory_ns, row.total_ns));
  const auto by = [&](analysis::Evidence evidence) {
    return format_share(table.by_evidence_ns[static_cast<size_t>(evidence)], table.total_ns);
  };
  return table_text(shown, style) +
         note(style, fmt::format("{} of the GPU time has a phase ({} by operators, {} by "
                                 "ranges, {} by kernel names)",
                                 format_share(assigned), by(analysis::Evidence::kOperator),
                                 by(analysis::Evidence::kRange), by(analysis::Evidence::kName)));
}

std::string operators_text(const analysis::TraceSummary& summary, const TextStyle& style) {
  const analysis::ShapeTable& table = summary.shapes;
  if (table.rows.empty()) return "";
  base::Table shown("<44 >6 >10 >9 >6 >5");
  shown.row("Operators", "calls", "GPU time", "TFLOP/s", "GB/s", summary.peak ? "roof" : "");
  for (const analysis::ShapeRow& row : first(table.rows, kOperatorsShown)) {
    shown.row("  " + label_of(row), row.calls, base::format_nanoseconds(row.total_ns),
              rate_text(row), figure(row.gb_per_s()), roof_text(row, summary));
  }
  std::string out =
      table_text(shown, style) + more_line(table.rows.size(), kOperatorsShown, "shapes");
  std::string text = fmt::format("operators are known for {} of the GPU time, their FLOPs for {}",
                                 format_share(table.operator_ns, table.total_ns),
                                 format_share(table.flops_ns, table.total_ns));
  if (summary.peak)
    text += fmt::format("; roof: of the {}'s peak FLOPs (F) or bandwidth (B)", summary.peak->gpu);
  return out + note(style, text);
}

std::string taxes_text(const analysis::TraceSummary& summary, const TextStyle& style) {
  const analysis::Taxes& taxes = summary.taxes;
  if (taxes.span_ns <= 0) return "";
  const auto share = [&](int64_t part) { return format_share(part, taxes.span_ns); };
  const analysis::RoundTrips& trips = taxes.round_trips;
  std::string out = heading(style, "Taxes, shares of the span");
  const auto line = [&](std::string_view name, const std::string& value, const std::string& text) {
    out += fmt::format("  {:<20}{:>9}  {}\n", name, value, wrap(text, 80, 33));
  };
  line("bulk synchrony", share(taxes.collective_waiting_ns + taxes.host_sync_ns),
       fmt::format(
           "{} a call still waited for the idle GPU; {}", share(taxes.host_sync_ns),
           taxes.ranks_compared
               ? share(taxes.collective_waiting_ns) + " in collectives before the last rank came"
           : summary.ranks.size() > 1 ? "no collective was found on several ranks"
                                      : "waiting in collectives needs traces of several ranks"));
  line("memory round trips",
       trips.known_ns == 0 ? "-" : (trips.pairs > 0 ? "<" : "") + share(trips.saved_ns),
       trips.known_ns > 0
           ? fmt::format("upper bound: {} written and read back between {} pairs of kernels",
                         base::format_bytes(trips.bytes), base::format_count(trips.pairs))
           : "no shapes of memory-bound operators recorded");
  line("launch", share(taxes.launch_idle_ns),
       fmt::format("idle until a late launch took effect: {} in launch calls, {} loading data, {} "
                   "with the CPU elsewhere, {} from call to start; {} kernels are over sooner than "
                   "a launch",
                   share(taxes.launching_ns), share(taxes.loading_ns), share(taxes.elsewhere_ns),
                   share(taxes.latency_ns), base::format_count(taxes.short_kernels)));
  out += note(style, "they overlap each other and do not add up");
  const std::string launches = launches_line(summary);
  return launches.empty() ? out : out + paragraph(launches);
}

std::string energy_text(const analysis::TraceSummary& summary, const TextStyle& style) {
  std::vector<std::string> ranks;
  for (const analysis::RankEnergy& energy : first(summary.energy, kEnergyRanksShown))
    ranks.push_back(rank_energy(energy, style) + shape_power(energy, style));
  return sections(ranks) + more_line(summary.energy.size(), kEnergyRanksShown, "ranks");
}

}  // namespace ergometer::report
