#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/trace_summary.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// A number of every rank as a mean over ranks, in seconds, and as a share of the span.
template <class Nanoseconds>
Finding cost(const TraceSummary& summary, std::string name, Nanoseconds&& of_rank) {
  Finding finding;
  finding.name = std::move(name);
  finding.confidence = "measured";
  double span = 0;
  for (const RankSummary& rank : summary.ranks) {
    finding.cost_s += static_cast<double>(of_rank(rank)) * 1e-9;
    span += static_cast<double>(rank.breakdown.span_ns) * 1e-9;
  }
  if (span > 0) finding.fraction = finding.cost_s / span;
  if (!summary.ranks.empty()) finding.cost_s /= static_cast<double>(summary.ranks.size());
  return finding;
}

Finding late_launch(const TraceSummary& summary) {
  Finding f = cost(summary, "late_launch", [](const auto& r) { return r.idle.launch_ns; });
  f.what = fmt::format(
      "The GPU idles {} of the span because the CPU had not yet launched the next kernel: the job "
      "is bound by launches there.",
      base::format_percent(f.fraction));
  f.try_next =
      "CUDA graphs or torch.compile(mode=\"reduce-overhead\"); fewer and larger kernels; no "
      ".item() "
      "or print of device values in the step.";
  f.check = "profile once more with a larger micro batch: late launches shrink as kernels grow";
  return f;
}

Finding queued_idle(const TraceSummary& summary) {
  Finding f = cost(summary, "queued_idle", [](const auto& r) { return r.idle.queued_ns; });
  f.what = fmt::format(
      "The GPU idles {} of the span with the next kernel already launched: launch latency, or the "
      "kernel waited for an event or another stream.",
      base::format_percent(f.fraction));
  f.try_next = "look for stream waits (cuda_sync) around the gaps; CUDA graphs shorten latency.";
  f.check = "look at the gaps in ui.perfetto.dev";
  return f;
}

Finding exposed_communication(const TraceSummary& summary) {
  Finding f = cost(summary, "exposed_communication",
                   [](const auto& r) { return r.breakdown.exposed_communication_ns; });
  std::string most;
  if (!summary.collectives.empty())
    most = fmt::format(", most of it {}", to_word(summary.collectives.front().kind));
  f.what = fmt::format("Communication without compute beside it takes {} of the span{}.",
                       base::format_percent(f.fraction), most);
  f.try_next =
      "overlap it (gradient and parameter overlap, tensor-parallel overlap), larger buckets, or a "
      "layout that moves less over the slow links.";
  f.check =
      "ergometer simulate MODEL --cluster CLUSTER with --overlap-grad-reduce and other layouts";
  return f;
}

Finding exposed_memory(const TraceSummary& summary) {
  Finding f =
      cost(summary, "exposed_memory", [](const auto& r) { return r.breakdown.exposed_memory_ns; });
  f.what = fmt::format("Copies and sets with nothing beside them take {} of the span.",
                       base::format_percent(f.fraction));
  f.try_next = "pinned host memory with non_blocking copies on a stream of their own; prefetch.";
  f.check = "the kernel table's copies by direction (ergometer analyze --json, trace.kernels)";
  return f;
}

/// Ranks that arrive late make the others wait inside their collectives' kernels.
Finding arrival(const TraceSummary& summary) {
  const ArrivalTable& table = summary.arrivals;
  Finding f;
  f.name = "late_arrival";
  f.confidence = "clocks of ranks brought together by the ends of their collectives";
  if (table.matched == 0 || table.ranks.empty()) return f;
  double waiting = 0;
  for (const Arrival& rank : table.ranks) waiting += static_cast<double>(rank.waiting_ns) * 1e-9;
  f.cost_s = waiting / static_cast<double>(table.ranks.size());
  double span = 0;
  for (const RankSummary& rank : summary.ranks)
    span += static_cast<double>(rank.breakdown.span_ns) * 1e-9;
  if (span > 0) f.fraction = waiting / span;
  const auto latest = std::ranges::max_element(
      table.ranks, [](const auto& a, const auto& b) { return a.lateness_ns < b.lateness_ns; });
  const double matched = static_cast<double>(table.matched);
  f.what = fmt::format(
      "Ranks wait {} of the span in collectives for the last one to arrive: {} of {} matched "
      "collectives were joined last by rank {}, on average {} behind the first. From the last "
      "arrival on, a collective took {}.",
      base::format_percent(f.fraction), latest->last, table.matched, latest->rank,
      base::format_seconds(static_cast<double>(latest->lateness_ns) * 1e-9 / matched),
      base::format_seconds(static_cast<double>(table.transfer_ns) * 1e-9 / matched));
  f.try_next = fmt::format(
      "compare rank {}'s compute before its collectives with the others' (more work, lower clock, "
      "a "
      "slow data loader); links are not the cause of time before the last arrival.",
      latest->rank);
  f.check = "record clocks and temperatures beside the trace on the ranks that come last";
  return f;
}

Finding device_communication(const TraceSummary& summary) {
  Finding f;
  f.name = "device_communication";
  f.confidence = "by kernel name";
  double total = 0;
  for (const KernelRow& row : summary.classes)
    if (row.kernel_class == "device_communication") total += static_cast<double>(row.total_ns);
  double span = 0;
  for (const RankSummary& rank : summary.ranks)
    span += static_cast<double>(rank.breakdown.span_ns) * 1e-9;
  if (span <= 0) return f;
  f.cost_s = total * 1e-9 / static_cast<double>(summary.ranks.size());
  f.fraction = total * 1e-9 / span;
  f.what = fmt::format(
      "Kernels that communicate by themselves (DeepEP, NVSHMEM, user buffers) take {} of the span; "
      "they count as compute here, as they do wherever NCCL's names decide.",
      base::format_percent(f.fraction));
  f.try_next = "read compute and overlap with that in mind.";
  f.check = "trace.kernels of class device_communication (ergometer analyze --json)";
  return f;
}

}  // namespace

std::vector<Finding> find(const TraceSummary& summary) {
  std::vector<Finding> findings = {
      late_launch(summary),    queued_idle(summary), exposed_communication(summary),
      exposed_memory(summary), arrival(summary),     device_communication(summary)};
  for (Finding& finding : find_in_work(summary)) findings.push_back(std::move(finding));
  std::erase_if(findings, [](const Finding& f) { return f.fraction < kWorthTelling; });
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::cost_s);
  return findings;
}

}  // namespace ergometer::analysis
