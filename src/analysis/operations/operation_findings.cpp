#include "analysis/operations/operation_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/job_findings.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// A job is slowed down by stragglers from a tenth on, as the publication counts.
constexpr double kStraggling = 1.1;
/// From half of the loss on, what brings it back is its cause.
constexpr double kMostOfIt = 0.5;
/// From here on, micro batches vary alike on all stages, and enough to matter.
constexpr double kAlike = 0.7, kVaries = 0.02;
constexpr double kWorthNaming = 0.01;  // of a step

std::string names_of_slowest(const OperationSlowdown& of) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(of.slowest_count, kMost); ++i)
    text += fmt::format("{}stage {} of replica {}", i > 0 ? ", " : "", of.by_worker[i].stage,
                        of.by_worker[i].replica);
  if (of.slowest_count > kMost) text += fmt::format(" and {} more", of.slowest_count - kMost);
  return text;
}

Finding of_step(std::string name, double cost_s, const OperationSlowdown& of) {
  Finding finding = priced(std::move(name), cost_s, of.recorded_step_s);
  finding.step_s = cost_s;
  finding.confidence = "replayed from what was recorded";
  return finding;
}

void tell_workers(OperationSlowdown& of) {
  if (of.slowest_workers.share < kMostOfIt) return;
  Finding f = of_step("slow_worker", of.replayed_step_s - of.slowest_workers.step_s, of);
  f.what = fmt::format(
      "{} {} slower than the others: once mended, {} of what stragglers cost goes away.",
      of.slowest_count == 1 ? "The worker of " + names_of_slowest(of)
                            : "The workers of " + names_of_slowest(of),
      of.slowest_count == 1 ? "is" : "are",
      base::format_percent(std::min(of.slowest_workers.share, 1.0)));
  f.try_next =
      "other GPUs or hosts for it; its clocks, temperatures and throttling, its links, other "
      "processes on its host.";
  f.check = "ergometer analyze TELEMETRY of its host: clocks and temperatures beside the others'";
  of.findings.push_back(std::move(f));
}

void tell_last_stage(OperationSlowdown& of) {
  if (of.groups.stages < 2 || of.last_stage.share < kMostOfIt) return;
  Finding f = of_step("slow_last_stage", of.replayed_step_s - of.last_stage.step_s, of);
  f.what = fmt::format(
      "Stage {}, the last one, has more to do than the others: the step loses {} to it, {} of what "
      "stragglers cost.",
      of.groups.stages - 1, base::format_seconds(f.cost_s),
      base::format_percent(std::min(of.last_stage.share, 1.0)));
  f.try_next =
      "fewer layers on the last stage, which also has the output layer and the loss "
      "(--decoder-last-pipeline-num-layers), or the output layer's work split over ranks.";
  f.check = "ergometer optimize JOB --knobs layers";
  of.findings.push_back(std::move(f));
}

void tell_batches(OperationSlowdown& of) {
  const double cost_s = of.replayed_step_s - of.even_batches_step_s;
  if (of.micro_batch_correlation < kAlike || of.micro_batch_spread < kVaries ||
      cost_s < kWorthNaming * of.recorded_step_s)
    return;
  Finding f = of_step("sequence_length_imbalance", cost_s, of);
  f.what = fmt::format(
      "Micro batches differ in length: their forwards deviate by {} from even ones, and alike "
      "on all stages (correlation {:.2f}). With equal ones the step would take {}.",
      base::format_percent(of.micro_batch_spread), of.micro_batch_correlation,
      base::format_seconds(of.even_batches_step_s));
  f.try_next =
      "packing sequences so that micro batches have equal work (attention grows with the square of "
      "a sequence's length), over replicas too.";
  f.check = "ergometer analyze of a recording with packed sequences: this correlation";
  of.findings.push_back(std::move(f));
}

void tell_transfers(OperationSlowdown& of) {
  const double cost_s = of.replayed_step_s - of.transfer_step_s;
  if (cost_s < kWorthNaming * of.recorded_step_s) return;
  Finding f = of_step("slow_transfers", cost_s, of);
  f.what = fmt::format("Transfers that take longer than their median cost {} of a step.",
                       base::format_seconds(cost_s));
  f.try_next = "a slow or flapping link, routing, other jobs on the same switches.";
  f.check = "the ranks of the slowest transfers: nccl-tests between them";
  of.findings.push_back(std::move(f));
}

void tell_launches(OperationSlowdown& of) {
  const double cost_s = of.recorded_step_s - of.replayed_step_s;
  if (cost_s < kWorthNaming * of.recorded_step_s) return;
  Finding f = of_step("late_launches", cost_s, of);
  f.what = fmt::format(
      "{} of a step pass between what operations wait for and their start: the host is late{}.",
      base::format_seconds(cost_s),
      of.pause_s > 0 ? fmt::format("; garbage collection alone takes {} of a step on a rank",
                                   base::format_seconds(of.pause_s))
                     : "");
  f.try_next =
      "garbage collection at the same steps on all ranks (--manual-gc), data loading ahead of its "
      "use, pinned CPUs, logging less often.";
  f.check = "ergometer analyze of a Kineto trace of one rank: its late launches";
  f.confidence = "measured";
  of.findings.push_back(std::move(f));
}

}  // namespace

void tell_operations(OperationSlowdown& of) {
  const auto mend = [&](std::string what, double step_s) {
    of.mendings.push_back({std::move(what), step_s, of.replayed_step_s - step_s});
  };
  mend("the slowest workers (" + names_of_slowest(of) + ")", of.slowest_workers.step_s);
  if (of.groups.stages > 1) mend("the last stage", of.last_stage.step_s);
  mend("micro batches of unequal length", of.even_batches_step_s);
  mend("transfers slower than their median", of.transfer_step_s);
  mend("everything that is slower than its mean", of.ideal_step_s);
  std::ranges::stable_sort(of.mendings, std::ranges::greater{}, &Mending::saved_s);
  if (of.slowdown >= kStraggling) {
    tell_workers(of);
    tell_last_stage(of);
  }
  tell_batches(of);
  tell_transfers(of);
  tell_launches(of);
  std::ranges::stable_sort(of.findings, std::ranges::greater{}, &Finding::cost_s);
}

}  // namespace ergometer::analysis
