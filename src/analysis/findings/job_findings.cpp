#include "analysis/findings/job_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "analysis/findings/gpu_findings.h"
#include "analysis/math/sum.h"
#include "analysis/telemetry/throttling.h"
#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

std::string time(double s) { return base::format_seconds(s); }

/// What times are shares of: a rank's span, mean over ranks.
double mean_span_s(const TraceSummary& summary) {
  double sum = 0;
  for (const RankSummary& rank : summary.ranks) sum += seconds(rank.breakdown.span_ns);
  return summary.ranks.empty() ? 0 : sum / static_cast<double>(summary.ranks.size());
}

std::string group_name(const GroupSkew& skew) {
  const std::string& name = skew.parallelism.name;
  std::string text = name.empty() ? "a process group" : "a " + name + " group";
  if (skew.members.size() <= 8)
    text += fmt::format(" (ranks {})", fmt::join(skew.members, ", "));
  else
    text += fmt::format(" of {} ranks", skew.members.size());
  return text;
}

std::string clock_confidence(const JobReport& report) {
  if (report.clocks.worst_uncertainty_ns == 0) return "clocks of all ranks taken as one";
  return fmt::format("clocks brought together by collectives' ends, within {}",
                     time(seconds(report.clocks.worst_uncertainty_ns)));
}

// --- who waits for whom

std::string cause_text(const GroupSkew& skew) {
  const auto mean = [&](int64_t sum) {
    return time(seconds(sum) / static_cast<double>(std::max<int64_t>(1, skew.compared)));
  };
  switch (skew.cause) {
    case LateCause::kCompute:
      return fmt::format(" Before them it computes {} longer than its peers.",
                         mean(skew.more_compute_ns));
    case LateCause::kLaunch:
      return fmt::format(
          " Before them its GPU is idle {} longer than its peers': its CPU starts work later.",
          mean(skew.more_idle_ns));
    case LateCause::kInherited:
      return " It comes late because an earlier collective, of another group, ended late for it.";
    case LateCause::kUnknown: break;
  }
  return "";
}

/// " Its GPU: 1200 MHz, the others 1900 MHz."; empty: nothing is known.
std::string condition_text(std::string_view whose, const std::optional<GpuCondition>& condition) {
  if (!condition) return "";
  const GpuCondition& c = *condition;
  std::vector<std::string> parts;
  if (c.sm_clock_mhz && c.others_clock_mhz)
    parts.push_back(
        fmt::format("{:.0f} MHz, the others {:.0f} MHz", *c.sm_clock_mhz, *c.others_clock_mhz));
  if (c.gpu_c && c.others_gpu_c)
    parts.push_back(fmt::format("{:.0f} C, the others {:.0f} C", *c.gpu_c, *c.others_gpu_c));
  if (c.throttled_fraction && *c.throttled_fraction > 0)
    parts.push_back(fmt::format("throttled {} of the time ({})",
                                base::format_percent(*c.throttled_fraction), c.reason));
  return parts.empty() ? "" : fmt::format(" {} GPU: {}.", whose, fmt::join(parts, "; "));
}

std::string straggler_advice(const GroupSkew& skew) {
  switch (skew.cause) {
    case LateCause::kCompute:
      if (skew.condition && skew.condition->throttled_fraction.value_or(0) > 0)
        return fmt::format(
            "{} Until then less work on it (fewer layers in its stage), or another GPU for its "
            "rank.",
            advice_for(skew.condition->reason).try_next);
      return "compare its work (layers, sequence lengths, experts) with its peers'; with equal "
             "work, its clock and temperature.";
    case LateCause::kLaunch:
      return "its data loader, garbage collection, logging or checkpointing; CPU pinning and other "
             "processes on its host.";
    case LateCause::kInherited: return "look at the group it waited in first.";
    case LateCause::kUnknown: break;
  }
  return "compare what it does before its collectives with its peers.";
}

Finding straggler(const JobReport& report, const GroupSkew& skew, double span_s, size_t ranks) {
  const bool replayed = skew.saved_if_equal_ns >= 0;
  Finding f =
      replayed ? priced("straggler", seconds(skew.saved_if_equal_ns), seconds(report.path.span_ns))
               : priced("straggler", seconds(skew.caused_waiting_ns) / static_cast<double>(ranks),
                        span_s);
  f.what = fmt::format(
      "Rank {} holds up {}: the others wait {} in all for it. Of {} collectives ranks join {} "
      "apart, and it comes last to {} of these, {}.",
      skew.rank, group_name(skew), time(seconds(skew.caused_waiting_ns)), skew.collectives,
      skew.skewed, std::llround(skew.last_share * static_cast<double>(skew.skewed)),
      skew.persistent ? "to most in both halves of the time"
                      : "but not to most in both halves of the time");
  if (replayed)
    f.what += fmt::format(" If {}, the span of {} would shrink by {}.",
                          skew.cause == LateCause::kCompute ? "it computed as fast as they do"
                                                            : "its CPU were as early as theirs",
                          time(seconds(report.path.span_ns)), time(f.cost_s));
  f.what += cause_text(skew) + condition_text("Its", skew.condition);
  f.try_next = straggler_advice(skew);
  const bool slower = skew.condition && skew.condition->sm_clock_mhz.value_or(0) <
                                            0.98 * skew.condition->others_clock_mhz.value_or(0);
  f.check = slower
                ? fmt::format(
                      "ergometer simulate MODEL --cluster CLUSTER --override "
                      "nodeN.gpuM.lock_clock={:.0f}MHz",
                      *skew.condition->sm_clock_mhz)
                : "ergometer analyze TRACES TELEMETRY: clocks and temperatures beside the traces";
  f.confidence = clock_confidence(report);
  return f;
}

/// A group's straggler that is alone says more: when the others wait, and for what.
bool told_as_straggler(const JobReport& report) {
  return report.slow.ranks.size() == 1 &&
         std::ranges::any_of(report.skews, [&](const GroupSkew& skew) {
           return skew.verdict == GroupVerdict::kStraggler && skew.cause == LateCause::kCompute &&
                  skew.rank == report.slow.ranks.front().rank;
         });
}

constexpr size_t kMostSlowRanks = 4;

/// "1 (1.30 times), 3 (1.31 times) and 4 more".
std::string listed(const std::vector<SlowRank>& slow) {
  std::vector<std::string> some;
  for (const SlowRank& one : slow | std::views::take(kMostSlowRanks))
    some.push_back(fmt::format("{} ({:.2f} times)", one.rank, one.times));
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  if (slow.size() > kMostSlowRanks)
    text += fmt::format(" and {} more", slow.size() - kMostSlowRanks);
  return text;
}

Finding slow_ranks(const JobReport& report) {
  const SlowRanks& slow = report.slow;
  if (slow.ranks.empty() || told_as_straggler(report)) return {};
  const bool one = slow.ranks.size() == 1;
  const double span_s = seconds(report.path.span_ns);
  Finding f = priced("straggler", seconds(slow.saved_if_equal_ns), span_s);
  f.what = fmt::format(
      "{} longer for the same kernels than the ranks that run the same ones: {} {}. If {} as fast, "
      "the span of {} would shrink by {}.",
      one ? "One rank takes" : fmt::format("{} ranks take", slow.ranks.size()),
      one ? "rank" : "ranks", listed(slow.ranks), one ? "it were" : "they all were", time(span_s),
      time(f.cost_s));
  for (const SlowRank& rank : slow.ranks | std::views::take(kMostSlowRanks))
    f.what += condition_text(one ? "Its" : fmt::format("Rank {}'s", rank.rank), rank.condition);
  f.try_next =
      "clocks and temperatures of these GPUs; with equal clocks, their work: sequence lengths and "
      "experts change a kernel's time and not its name.";
  f.check = "ergometer analyze TRACES TELEMETRY: clocks and temperatures beside the traces";
  f.confidence = "measured, with shapes taken to be those of the ranks with the same kernels";
  return f;
}

Finding moving(const JobReport& report, const GroupSkew& skew, double span_s, size_t ranks) {
  Finding f =
      priced("moving_straggler", seconds(skew.waiting_ns) / static_cast<double>(ranks), span_s);
  f.what = fmt::format(
      "In {} ranks wait {} on the mean for the last one, and it is not always the same: no rank "
      "holds up more than half of {} collectives.",
      group_name(skew), time(f.cost_s), skew.skewed);
  f.try_next =
      "work that varies from batch to batch: sequence lengths, expert load, host jitter (garbage "
      "collection at fixed steps on all ranks at once, CPU pinning).";
  f.check = "ergometer analyze TRACES --json: process_groups, step by step with --steps";
  f.confidence = clock_confidence(report);
  return f;
}

Finding congestion(const GroupSkew& skew, double span_s) {
  const double excess = seconds(skew.transfer_ns) * (1 - 1 / skew.slowdown);
  const int64_t missing = std::max<int64_t>(0, skew.size - std::ssize(skew.members));
  Finding f = priced("congested_link", excess, span_s);
  f.what = fmt::format(
      "Transfers in {} take {:.1f} times as long as the fastest tenth of the same size{}{}.",
      group_name(skew), skew.slowdown, missing > 0 ? "" : ", with every rank there",
      skew.best_bus_gb_per_s > 0 ? fmt::format(": {:.1f} GB/s on the bus instead of {:.1f}",
                                               skew.mean_bus_gb_per_s, skew.best_bus_gb_per_s)
                                 : "");
  f.try_next =
      "other groups on the same links at the same time, a slow or flapping link, routing; a layout "
      "that keeps this group inside a node.";
  f.check = "ergometer simulate MODEL --cluster CLUSTER --explain links.nic.utilization";
  if (missing > 0) {
    f.what += fmt::format(" Of its {} ranks {} {} no trace, and may be what the others wait for.",
                          skew.size, missing, missing == 1 ? "has" : "have");
    f.try_next =
        "traces of all its ranks, which tell late ranks from slow links; then " + f.try_next;
    f.confidence = "measured, with what it waits for ranks whose traces are not here";
  }
  return f;
}

/// Whether slow members of a group are what its ranks wait for, mostly.
bool explained(const JobReport& report, const GroupSkew& skew, size_t ranks) {
  const bool member = std::ranges::any_of(report.slow.ranks, [&](const SlowRank& slow) {
    return std::ranges::binary_search(skew.members, slow.rank);
  });
  const double mean_ns = static_cast<double>(skew.waiting_ns) / static_cast<double>(ranks);
  return member && 2 * static_cast<double>(report.slow.saved_if_equal_ns) > mean_ns;
}

/// Whether one is told, so that late ranks need not be told once more.
bool add_waiting(const JobReport& report, double span_s, size_t ranks,
                 std::vector<Finding>& findings) {
  const size_t before = findings.size();
  findings.push_back(slow_ranks(report));
  for (const GroupSkew& skew : report.skews) {
    if (skew.verdict == GroupVerdict::kStraggler && skew.cause != LateCause::kInherited)
      findings.push_back(straggler(report, skew, span_s, ranks));
    if (skew.verdict == GroupVerdict::kMovingStraggler && !explained(report, skew, ranks))
      findings.push_back(moving(report, skew, span_s, ranks));
    if (skew.verdict == GroupVerdict::kCongested) findings.push_back(congestion(skew, span_s));
  }
  return std::any_of(
      findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(),
      [](const Finding& f) { return f.name != "congested_link" && f.fraction >= kWorthTelling; });
}

// --- the critical path

/// Matrix products are what a job is for: they are on the path of a good one too. So may be kernels
/// of which no name tells what they do.
bool is_overhead(const std::string& kind) {
  return kind != "gemm" && kind != "attention" && kind != "convolution" && kind != "other";
}

Finding path_finding(const JobReport& report, size_t ranks) {
  const PathShare* best = nullptr;
  for (const PathShare& kind : report.path.kinds)
    if (is_overhead(kind.kind) &&
        (best == nullptr || kind.saved_if_free_ns > best->saved_if_free_ns))
      best = &kind;
  // On one rank the late launches are the same thing.
  if (best == nullptr || best->saved_if_free_ns <= 0 || (ranks == 1 && best->kind == "cpu"))
    return {};
  Finding f =
      priced("critical_path", seconds(best->saved_if_free_ns), seconds(report.path.span_ns));
  f.what = fmt::format(
      "Of the critical path{}, {} is {}. If that took no time, the span of {} would shrink by {}.",
      ranks == 1 ? "" : " through all ranks",
      base::format_percent(seconds(best->on_path_ns) / seconds(report.path.span_ns)),
      best->kind == "cpu" ? "the CPU, late with its launches" : best->kind,
      time(seconds(report.path.span_ns)), time(f.cost_s));
  f.try_next =
      best->kind == "cpu"
          ? "what the CPU does before it launches: idle_cause_ns and launch of trace.ranks "
            "(ergometer analyze --json) part it into waiting for the GPU, launching, loading data "
            "and the rest."
          : "what shortens it shortens the job, up to that; what is not on the path does "
            "not.";
  f.check = "ergometer analyze TRACES --json: critical_path.segments says where and on which rank";
  f.confidence = report.path.inferred_waits > 0
                     ? "a replay; waits between streams are inferred from times"
                     : "a replay of what is recorded";
  return f;
}

// --- taxes, by replays: what the finding promises is what the job would be shorter

Finding without_tax(const JobReport& report, std::string name, const ReplayedTax& tax) {
  const double ns = 1e-9;
  return priced(std::move(name), (report.taxes.span_ns - tax.without_ns) * ns,
                report.taxes.span_ns * ns);
}

std::string shrinks(const JobReport& report, const Finding& f) {
  return fmt::format("the span of {} would shrink by at most {} ({})",
                     time(report.taxes.span_ns * 1e-9), time(f.cost_s),
                     base::format_percent(f.fraction));
}

Finding host_sync(const JobReport& report) {
  Finding f = without_tax(report, "host_synchronization", report.taxes.host_sync);
  f.what = fmt::format(
      "The CPU waits for the GPU (a synchronising call or a copy that blocks) and goes on only "
      "afterwards: without these waits {}.",
      shrinks(report, f));
  f.try_next =
      "no .item(), .cpu(), print or nonzero() of device values within the step; log them a step "
      "later; non_blocking copies from pinned memory.";
  f.check = "torch.cuda.set_sync_debug_mode(\"warn\") names the lines that synchronise";
  f.confidence = "a replay of what is recorded, in which the CPU needs nothing that it waited for";
  return f;
}

Finding round_trip(const JobReport& report, const RoundTrips& trips) {
  Finding f = without_tax(report, "memory_round_trips", report.taxes.memory_round_trips);
  f.what = fmt::format(
      "{} times a memory-bound kernel reads back what the one before it has just written, {} in "
      "all: fused, {}.",
      base::format_count(trips.pairs), base::format_bytes(trips.bytes), shrinks(report, f));
  f.try_next =
      "torch.compile, or fused modules (Apex, Transformer Engine, Liger) for these chains.";
  f.check = "trace.operators lists the operators and their bytes (ergometer analyze --json)";
  f.confidence =
      "a replay with an upper bound by shapes: the tensor handed on may be another of the same "
      "shape, or needed later";
  return f;
}

// --- over time

Finding step_change(const LevelShift& shift, double span_s, double steps) {
  const double slower = shift.after - shift.before;
  Finding f = priced("step_time_change", slower * steps, span_s);
  f.what = fmt::format("From step {} on, {} steps take {} instead of {}.", shift.step,
                       shift.rank < 0 ? "the job's" : fmt::format("rank {}'s", shift.rank),
                       time(shift.after), time(shift.before));
  f.try_next =
      "what began then: another job on the fabric, a hotter GPU, a growing data structure.";
  f.check = fmt::format("ergometer analyze TRACES --steps {}..{}, and the same before it",
                        shift.step, shift.step + 4);
  f.confidence = "a change of level; fewer than 2 of 100 series of noise show one";
  return f;
}

Finding spikes(const StepSpikes& s, double span_s) {
  Finding f = priced("slow_steps", s.cost_per_step_s * static_cast<double>(s.steps), span_s);
  f.what = fmt::format("{} of {} steps take {} longer than their neighbours{}.", s.count, s.steps,
                       time(s.extra_s),
                       s.every_steps > 0 ? fmt::format(", every {:.0f} steps", s.every_steps) : "");
  f.try_next =
      s.every_steps > 0
          ? "what runs at that interval: checkpoints, evaluation, logging, Python's garbage "
            "collection, the end of a data shard."
          : "garbage collection, data loading, retransmissions on the fabric.";
  f.check = "ergometer analyze TRACES --steps N of one such step, and of its neighbour";
  return f;
}

void add_over_time(const JobReport& report, double span_s, double steps,
                   std::vector<Finding>& findings) {
  for (const LevelShift& shift : report.anomalies.shifts)
    if (shift.step >= 0 && shift.after > shift.before)
      findings.push_back(step_change(shift, span_s, steps));
  for (const StepSpikes& s : report.anomalies.spikes) findings.push_back(spikes(s, span_s));
  add_gpu_findings(report, findings);
  for (const LinkUse& link : report.links) {
    if (link.saturated_fraction.value_or(0) <= kWorthTelling) continue;
    Finding f =
        priced("saturated_link", *link.saturated_fraction * report.recorded_s, report.recorded_s);
    f.fraction = *link.saturated_fraction;
    f.what = fmt::format("A {} link ({}) is above 90 % of its line rate {} of the time: {}, {}.",
                         link.kind, link.direction, base::format_percent(f.fraction),
                         link.busiest_host, link.busiest);
    f.try_next = "less traffic over it: a layout that keeps the busiest group inside a node.";
    f.check = "ergometer simulate MODEL --cluster CLUSTER --explain links.nic.utilization";
    findings.push_back(f);
  }
}

/// The others wait for a stage that has more to do.
void name_slow_stage(const PipelineReport& pipeline, Finding& f) {
  constexpr double kWorthNaming = 0.05;
  if (pipeline.imbalance < kWorthNaming || pipeline.rows.empty()) return;
  const int64_t stage = std::ranges::max_element(pipeline.rows, {}, &PipelineStage::slowest)->stage;
  f.what += fmt::format(
      " Of a micro batch the slowest stage, mostly {}, needs {} longer than the mean of all.",
      stage, base::format_percent(pipeline.imbalance));
  f.try_next = fmt::format("fewer layers on stage {}{}, or a faster GPU for it; then ", stage,
                           stage + 1 == pipeline.stages
                               ? ", the last one, which also has the output layer and the loss"
                               : "") +
               f.try_next;
}

Finding bubble(const JobReport& report, double span_s) {
  if (!report.pipeline) return {};
  const PipelineReport& p = *report.pipeline;
  const double steps = static_cast<double>(p.steps.size());
  // A pipeline's timeline need not have GPU events, and then has no span but its steps.
  const double all_s = p.step_s * steps;
  Finding f = priced("pipeline_bubble", p.bubble_fraction * all_s, span_s > 0 ? span_s : all_s);
  f.what = fmt::format(
      "The {} stages of the pipeline are idle {} of a step ({}, {} micro batches); the schedule by "
      "itself makes {}.",
      p.stages, base::format_percent(p.bubble_fraction), to_word(p.schedule), p.micro_batches,
      base::format_percent(p.ideal_bubble_fraction));
  advise_on_bubble(f);
  f.step_s = p.bubble_fraction * p.step_s;
  name_slow_stage(p, f);
  return f;
}

/// The class of work (analysis/energy/kernel_energy.h) that a GPU does in the time that a finding
/// costs.
std::string_view class_of(const Finding& f) {
  static const std::map<std::string_view, std::string_view> kClasses = {
      {"late_launch", "idle"},
      {"data_loading", "idle"},
      {"cpu_elsewhere", "idle"},
      {"queued_idle", "idle"},
      {"host_synchronization", "idle"},
      {"pipeline_bubble", "idle"},
      {"exposed_communication", "collective"},
      {"late_arrival", "collective"},
      {"straggler", "collective"},
      {"moving_straggler", "collective"},
      {"congested_link", "collective"},
      {"memory_round_trips", "elementwise"}};
  return base::value_or(kClasses, f.name, "");
}

/// What a GPU draws at work of a class, mean over the ranks of which watts are stated.
void set_watts(const std::vector<RankEnergy>& ranks, Finding& f) {
  const std::string_view work = class_of(f);
  std::vector<run::MeasuredEnergy> powers;
  double sum = 0;
  for (const RankEnergy& rank : ranks)
    for (const EnergyRow& row : rank.classes)
      if (row.name == work) {
        sum += row.watts;
        powers.push_back({row.watts, error_by_fit(rank, row.watts, row.watts_error)});
      }
  if (powers.empty()) return;
  f.watts = sum / static_cast<double>(powers.size());
  f.watts_error = run::error_of_sum(powers);
}

/// Of one step, in seconds and in what all GPUs draw meanwhile: not their mean power, of which a
/// GPU that waits draws little.
void price_steps(const TraceSummary& summary, std::vector<Finding>& findings) {
  const double steps = marked_steps(summary);
  if (steps == 0 || !summary.performance) return;
  const double gpus = static_cast<double>(summary.ranks.size());
  for (Finding& f : findings) {
    f.step_s = f.fraction * summary.performance->step_time_s;
    if (!f.watts) set_watts(summary.energy, f);
    if (f.watts) f.step_j = *f.step_s * *f.watts * gpus;
  }
}

}  // namespace

Finding priced(std::string name, double cost_s, double of_s) {
  Finding f;
  f.name = std::move(name);
  f.confidence = "measured";
  f.cost_s = cost_s;
  f.fraction = of_s > 0 ? cost_s / of_s : 0;
  return f;
}

void advise_on_bubble(Finding& finding) {
  finding.try_next =
      "more micro batches, virtual stages or fewer stages shrink the schedule's part; equal stages "
      "the rest.";
  finding.check = "ergometer simulate MODEL --cluster CLUSTER --explain pipeline_bubble_fraction";
}

void advise_on_recomputation(Finding& finding) {
  finding.try_next =
      "recompute less (selective instead of full, fewer layers) as far as memory allows; a smaller "
      "micro batch or more tensor parallelism can pay for it.";
  finding.check =
      "ergometer simulate MODEL --cluster CLUSTER --recompute none says whether it fits";
}

void add_job_findings(const JobReport& report, const TelemetryReport& power,
                      TraceSummary& summary) {
  std::vector<Finding>& findings = summary.findings;
  const double span_s = mean_span_s(summary);
  const size_t ranks = std::max<size_t>(summary.ranks.size(), 1);
  const double steps = marked_steps(summary);
  std::vector<Finding> more;
  if (add_waiting(report, span_s, ranks, more))
    std::erase_if(findings, [](const Finding& f) { return f.name == "late_arrival"; });
  more.push_back(path_finding(report, ranks));
  more.push_back(host_sync(report));
  more.push_back(round_trip(report, summary.taxes.round_trips));
  more.push_back(bubble(report, span_s));
  add_over_time(report, span_s, steps, more);
  add_late_ranks(power.collectives, more);
  // A GPU that differs is told of whether or not its readings say that time is lost.
  std::erase_if(more, [](const Finding& f) {
    return f.fraction < kWorthTelling && f.name != "gpu_drifts" && f.name != "gpu_deviates";
  });
  findings.insert(findings.end(), more.begin(), more.end());
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::fraction);
  price_steps(summary, findings);
}

}  // namespace ergometer::analysis
