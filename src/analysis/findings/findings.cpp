#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/trace_summary.h"
#include "analysis/math/sum.h"
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
  Finding f = cost(summary, "late_launch", [](const auto& r) { return r.idle.launching_ns; });
  f.what = fmt::format(
      "The GPU idles {} of the span while the CPU is in calls that launch kernels, the next not "
      "yet launched: the job is bound by launches there.",
      base::format_percent(f.fraction));
  f.try_next = "CUDA graphs or torch.compile(mode=\"reduce-overhead\"); fewer and larger kernels.";
  f.check = "profile once more with a larger micro batch: late launches shrink as kernels grow";
  return f;
}

Finding data_loading(const TraceSummary& summary) {
  Finding f = cost(summary, "data_loading", [](const auto& r) { return r.idle.loading_ns; });
  f.what = fmt::format(
      "The GPU idles {} of the span while the CPU loads data, by the trace's names: the next "
      "kernel is launched only when the batch is there.",
      base::format_percent(f.fraction));
  f.try_next =
      "more workers that prefetch (DataLoader: num_workers, prefetch_factor, persistent_workers, "
      "pin_memory), data prepared before the run, faster storage.";
  f.check = "the same step with one batch used again and again: its idle time is without loading";
  return f;
}

/// The names in which the CPU was elsewhere, summed over ranks, the longest first.
std::vector<std::pair<std::string, int64_t>> elsewhere(const TraceSummary& summary) {
  std::map<std::string, int64_t> sums;
  for (const RankSummary& rank : summary.ranks)
    for (const auto& [name, ns] : rank.idle.elsewhere) add_time(sums[name], ns);
  std::vector<std::pair<std::string, int64_t>> names(sums.begin(), sums.end());
  std::ranges::stable_sort(names, std::ranges::greater{}, &std::pair<std::string, int64_t>::second);
  return names;
}

/// What to try by what the CPU does most of the time that it is elsewhere.
std::string try_elsewhere(const std::string& most) {
  const auto has = [&](std::string_view word) { return most.find(word) != std::string::npos; };
  if (most.empty())
    return "look for what runs between operators: Python, logging, garbage collection, "
           "checkpointing, other processes on its cores.";
  if (most.starts_with("cuda") || most.starts_with("hip"))
    return "a few steps before the profiler starts: first launches load kernels and allocate; "
           "memory kept from step to step (PyTorch's caching allocator, no empty_cache()).";
  if (has("::")) return "torch.compile or fused modules: fewer operators; a larger micro batch.";
  if (has("Optimizer.")) return "a fused optimizer (fused=True), or torch.compile of its step.";
  return "what no step needs beside the GPU's work: in another thread, or every few steps; of the "
         "rest fewer operators, or torch.compile.";
}

Finding cpu_elsewhere(const TraceSummary& summary) {
  constexpr size_t kNamed = 3;
  constexpr double kWorthNaming = 0.05;  // of the time elsewhere
  Finding f = cost(summary, "cpu_elsewhere", [](const auto& r) { return r.idle.elsewhere_ns; });
  double all = 0, named = 0;
  for (const RankSummary& rank : summary.ranks) all += static_cast<double>(rank.idle.elsewhere_ns);
  if (all <= 0) return f;
  std::vector<std::string> parts;
  std::string most;
  double longest = 0;
  for (const auto& [name, ns] : elsewhere(summary)) {
    const double share = static_cast<double>(ns) / all;
    named += share;
    if (most.empty()) {
      most = name;
      longest = share;
    }
    if (parts.size() < kNamed && share >= kWorthNaming)
      parts.push_back(fmt::format("{} {}", name, base::format_percent(share)));
  }
  f.what = fmt::format(
      "The GPU idles {} of the span because the CPU was elsewhere, neither launching nor waiting "
      "for the GPU. ",
      base::format_percent(f.fraction));
  if (named < kWorthNaming)
    f.what += "The trace does not say where.";
  else if (parts.empty())
    f.what += fmt::format("It is under many names, most under {}: {}.", most,
                          base::format_percent(longest));
  else
    f.what += fmt::format("Of that time: {}.", fmt::join(parts, ", "));
  if (named >= kWorthNaming && 1 - named >= kWorthNaming)
    f.what += fmt::format(" Of {} the trace does not say where.", base::format_percent(1 - named));
  f.try_next = try_elsewhere(longest >= 1 - named ? most : "");
  f.check = "the CPU's rows above the gaps in ui.perfetto.dev";
  return f;
}

Finding queued_idle(const TraceSummary& summary) {
  Finding f = cost(summary, "queued_idle", [](const auto& r) { return r.idle.queued_ns; });
  const Finding in_long = cost(summary, "", [](const auto& r) { return r.idle.long_launch_ns; });
  f.what = fmt::format("The GPU idles {} of the span with the next kernel already launched: ",
                       base::format_percent(f.fraction));
  if (2 * in_long.fraction > f.fraction) {
    f.what += fmt::format("{} in launch calls that take more than {}.",
                          base::format_percent(in_long.fraction),
                          base::format_nanoseconds(kLongestLaunchNs));
    f.try_next =
        "a few steps before the profiler starts: a kernel's first launch loads it; copies from "
        "pinned memory: others are staged within the call.";
  } else {
    f.what += "launch latency, or the kernel waited for an event or another stream.";
    f.try_next = "look for stream waits (cuda_sync) around the gaps; CUDA graphs shorten latency.";
  }
  f.check = "look at the gaps in ui.perfetto.dev";
  return f;
}

/// A finding's share that is waiting for ranks which come later: no faster link shortens that.
double exposed_waiting(const TraceSummary& summary, const Finding& f) {
  double waiting = 0;
  for (const Arrival& rank : summary.arrivals.ranks)
    waiting += static_cast<double>(rank.exposed_waiting_ns) * 1e-9;
  if (waiting <= 0) return 0;
  return waiting / static_cast<double>(summary.ranks.size()) / f.cost_s;
}

Finding exposed_communication(const TraceSummary& summary) {
  Finding f = cost(summary, "exposed_communication",
                   [](const auto& r) { return r.breakdown.exposed_communication_ns; });
  std::string most;
  if (!summary.collectives.empty() && summary.collectives.front().kind != CollectiveKind::kUnknown)
    most = fmt::format(", most of it {}", to_word(summary.collectives.front().kind));
  f.what = fmt::format("Communication without compute beside it takes {} of the span{}",
                       base::format_percent(f.fraction), most);
  const double waiting = exposed_waiting(summary, f);
  if (waiting * f.fraction >= kWorthTelling) {
    f.cost_s *= 1 - waiting;
    f.fraction *= 1 - waiting;
    f.what += fmt::format("; without what ranks wait in it for the last one, {}",
                          base::format_percent(f.fraction));
  }
  f.what += '.';
  if (summary.arrivals.matched == 0)
    f.confidence = "measured, with what it waits for ranks whose traces are not here";
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
      "a slow data loader); links are not the cause of time before the last arrival.",
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
      late_launch(summary), data_loading(summary),          cpu_elsewhere(summary),
      queued_idle(summary), exposed_communication(summary), exposed_memory(summary),
      arrival(summary),     device_communication(summary)};
  for (Finding& finding : find_in_work(summary)) findings.push_back(std::move(finding));
  std::erase_if(findings, [](const Finding& f) { return f.fraction < kWorthTelling; });
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::cost_s);
  return findings;
}

}  // namespace ergometer::analysis
