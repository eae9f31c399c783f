#include "report/measured/trace_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/math/sum.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/findings.h"
#include "report/measured/first_rows.h"
#include "report/measured/graph_output.h"
#include "report/measured/work_report.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {
namespace {

constexpr size_t kRanksShown = 64, kKernelsShown = 10, kCollectivesShown = 12,
                 kKernelNameWidth = 47;

std::string header(const analysis::TraceSummary& summary, const TextStyle& style) {
  std::set<std::string> gpus;
  std::set<int64_t> ranks;
  for (const analysis::RankSummary& rank : summary.ranks) {
    ranks.insert(rank.breakdown.rank);
    if (!rank.gpu.empty()) gpus.insert(rank.gpu);
  }
  std::string line =
      ranks.size() < summary.ranks.size() ? counted(summary.ranks.size(), "trace") + " of " : "";
  line += ranks.empty() ? counted(summary.graphs.size(), "execution graph")
                        : counted(ranks.size(), "rank");
  if (!gpus.empty()) line += fmt::format(" of {}", fmt::join(gpus, ", "));
  return heading(style, wrap(line, kWidth, 0));
}

/// Whether there is something else to show where ranks have no GPU events.
bool is_without_events(const analysis::TraceSummary& summary, bool more) {
  return (more || !summary.graphs.empty()) &&
         std::ranges::all_of(summary.ranks,
                             [](const auto& rank) { return rank.breakdown.gpu_events == 0; });
}

std::string ranks_table(const analysis::TraceSummary& summary, bool more, const TextStyle& style) {
  if (is_without_events(summary, more)) return "";
  base::Table table(">5 >8 >10 >10 >9 >10 >9 >9 >8 <");
  table.row("Rank", "events", "span", "compute", "comm", "exposed", "copies", "exposed", "idle");
  for (const analysis::RankSummary& rank : first(summary.ranks, kRanksShown)) {
    const analysis::RankBreakdown& b = rank.breakdown;
    const auto share = [&](int64_t part) { return format_share(part, b.span_ns); };
    table.row(b.rank, b.gpu_events, base::format_nanoseconds(b.span_ns), share(b.compute_ns),
              share(b.communication_ns), share(b.exposed_communication_ns), share(b.memory_ns),
              share(b.exposed_memory_ns), share(b.idle_ns), rank.truncated ? "cut off" : "");
  }
  return table_text(table, style) + more_line(summary.ranks.size(), kRanksShown, "ranks") +
         paint(style, kDim,
               "  shares of the span; exposed: communication without compute, copies without "
               "either") +
         '\n';
}

std::string trace_notes(const analysis::TraceSummary& summary, const TextStyle& style) {
  std::string out;
  for (const std::string& note : summary.notes)
    out += paint(style, kDim, wrap("Note: " + note, 80, 2)) + '\n';
  return out;
}

std::string step_text(const analysis::TraceSummary& summary, const TextStyle& style) {
  if (!summary.performance)
    return summary.different_gpus
               ? "Ranks ran on different GPUs: there is no step that is the mean of theirs.\n"
               : "";
  const run::Breakdown& b = summary.performance->breakdown_s;
  const double step = summary.performance->step_time_s;
  std::string out =
      heading(style, fmt::format("Step  {} (mean over ranks)", base::format_seconds(step)));
  const auto row = [&](std::string_view name, double seconds) {
    if (step <= 0 || seconds / step < 0.0005) return;
    out += fmt::format("  {:<22}{:>12}{:>9}\n", name, base::format_seconds(seconds),
                       format_share(seconds / step));
  };
  row("compute", b.compute);
  row("optimizer", b.optimizer);
  row("all-reduce", b.exposed_all_reduce);
  row("all-gather", b.exposed_all_gather);
  row("reduce-scatter", b.exposed_reduce_scatter);
  row("all-to-all", b.exposed_all_to_all);
  row("send/recv, other", b.exposed_send_recv);
  row("idle", b.idle);
  return out;
}

std::string short_kernel_name(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return shortened(name, kKernelNameWidth);
}

int64_t total_of(const std::vector<analysis::KernelRow>& rows) {
  int64_t total = 0;
  for (const analysis::KernelRow& row : rows) analysis::add_time(total, row.total_ns);
  return total;
}

std::string kernels_table(const analysis::TraceSummary& summary, const TextStyle& style) {
  if (summary.kernels.empty()) return "";
  const int64_t total = total_of(summary.kernels);
  const auto line = [&](const analysis::KernelRow& row, std::string_view name) {
    return fmt::format("  {:<{}}{:>9}{:>12}{:>9}\n", name, kKernelNameWidth, row.count,
                       base::format_nanoseconds(row.total_ns), format_share(row.total_ns, total));
  };
  const auto head = [&](std::string_view what) {
    return heading(style, fmt::format("{:<{}}{:>9}{:>12}{:>9}", what, kKernelNameWidth + 2, "count",
                                      "time", "share"));
  };
  std::string out =
      head(summary.study_classes ? "GPU time by the study's classes" : "GPU time by class");
  for (const analysis::KernelRow& row : summary.classes) out += line(row, row.name);
  out += '\n' + head("by name");
  for (const analysis::KernelRow& row : first(summary.kernels, kKernelsShown))
    out += line(row, short_kernel_name(row.name));
  return out + more_line(summary.kernels.size(), kKernelsShown, "names");
}

std::string collectives_table(const analysis::TraceSummary& summary, const TextStyle& style) {
  if (summary.collectives.empty()) return "";
  base::Table table("<26 >5 >7 >11 >11 >10 >10");
  table.row("Collectives (group)", "GPUs", "count", "time", "bytes", "GB/s bus", "best");
  for (const analysis::CollectiveRow& row : first(summary.collectives, kCollectivesShown)) {
    std::string name(analysis::to_word(row.kind));
    std::string group = analysis::parallelism_of(row.description);
    if (group.empty()) group = row.description.empty() ? row.group : row.description;
    if (!group.empty()) name += fmt::format(" ({})", group);
    constexpr size_t kGroupWidth = 24;
    const auto known = [&](const std::string& text) { return row.known == 0 ? "-" : text; };
    table.row("  " + name.substr(0, kGroupWidth),
              row.group_size > 0 ? fmt::format("{}", row.group_size) : "-", row.count,
              base::format_nanoseconds(row.total_ns), known(base::format_bytes(row.bytes)),
              known(fmt::format("{:.1f}", row.mean_bus_gb_per_s)),
              known(fmt::format("{:.1f}", row.best_bus_gb_per_s)));
  }
  return table_text(table, style) +
         more_line(summary.collectives.size(), kCollectivesShown, "rows");
}

}  // namespace

std::string dropped_text(const std::vector<run::Dropped>& dropped) {
  std::map<std::string, std::pair<int64_t, size_t>> by_reason;
  for (const run::Dropped& d : dropped) {
    by_reason[d.reason].first += d.count;
    ++by_reason[d.reason].second;
  }
  std::string out;
  for (const auto& [reason, count] : by_reason)
    out += fmt::format("  {:>12}  {}{}\n", base::format_count(count.first), reason,
                       count.second > 1 ? fmt::format(" ({} files)", count.second) : "");
  return out.empty() ? out : "Left out\n" + out;
}

std::string trace_text(const analysis::TraceSummary& summary,
                       const std::vector<run::Dropped>& dropped, const TextStyle& style,
                       const std::string& more) {
  return sections({header(summary, style), ranks_table(summary, !more.empty(), style),
                   trace_notes(summary, style), step_text(summary, style),
                   phases_text(summary, style), kernels_table(summary, style),
                   operators_text(summary, style), collectives_table(summary, style),
                   graphs_text(summary.graphs, style), taxes_text(summary, style),
                   energy_text(summary, style), more, findings_text(summary.findings, style),
                   dropped_text(dropped)});
}

std::vector<run::Dropped> dropped_of(const run::Run& run) {
  std::vector<run::Dropped> dropped = run.dropped;
  dropped.insert(dropped.end(), run.log.dropped.begin(), run.log.dropped.end());
  return dropped;
}

size_t readings_of(const run::Device& device) {
  size_t readings = 0;
  for (const run::Series& series : device.series) readings += series.samples.size();
  return readings;
}

std::string import_text(const run::Run& run, const std::string& path) {
  const auto count = [](size_t number, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", base::format_count(static_cast<int64_t>(number)),
                       number == 1 ? one : many);
  };
  std::vector<std::string> parts;
  if (!run.traces.empty())
    parts.push_back(fmt::format("{} of {}", count(run.kernels.size(), "GPU event", "GPU events"),
                                count(run.traces.size(), "trace", "traces")));
  if (!run.graphs.empty())
    parts.push_back(count(run.graphs.size(), "execution graph", "execution graphs"));
  if (run::has_log(run.log)) {
    size_t readings = 0;
    for (const run::Device& device : run.log.devices) readings += readings_of(device);
    size_t timings = 0;
    for (const run::CollectiveLog& log : run.log.collectives) timings += log.timings.size();
    if (readings > 0 || timings == 0)
      parts.push_back(fmt::format("{} of {}", count(readings, "reading", "readings"),
                                  count(run.log.devices.size(), "device", "devices")));
    if (timings > 0)
      parts.push_back(count(timings, "timing of a collective", "timings of collectives"));
  }
  return fmt::format("{}: {}\n{}", path, fmt::join(parts, "; "), dropped_text(dropped_of(run)));
}

}  // namespace ergometer::report
