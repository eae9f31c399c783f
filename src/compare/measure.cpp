// From traces, telemetry and simulated Runs to what is compared by parts.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ranks/arrivals.h"
#include "analysis/ranks/collectives.h"
#include "analysis/simulated_traces.h"
#include "analysis/telemetry/time_gaps.h"
#include "analysis/trace/breakdown.h"
#include "analysis/trace/idle.h"
#include "analysis/trace/step_breakdown.h"
#include "analysis/trace/steps.h"
#include "analysis/work/collective_kind.h"
#include "analysis/work/kernel_class.h"
#include "base/collection.h"
#include "compare/measured.h"
#include "engine/simulate.h"

namespace ergometer::compare {
namespace {

constexpr double kSecond = 1e-9;  ///< of a nanosecond

std::string part_of(analysis::CollectiveKind kind) {
  using enum analysis::CollectiveKind;
  switch (kind) {
    case kAllReduce: return "exposed_all_reduce";
    case kAllGather: return "exposed_all_gather";
    case kReduceScatter: return "exposed_reduce_scatter";
    case kAllToAll: return "exposed_all_to_all";
    default: return "exposed_send_recv";
  }
}

/// Adds one rank's kernels of a step, weighted by `share`.
void add_kernels(const run::RankTrace& trace, double share, Measured& result) {
  analysis::KernelClasses classes(trace);
  for (const run::GpuEvent& event : trace.events) {
    KernelClass* into = nullptr;
    if (event.kind == run::GpuClass::kCommunication) {
      into = &result.collectives[part_of(analysis::kind_of(trace, event))];
    } else {
      const std::string_view kind = classes.of(event);
      if (kind == "optimizer") continue;  // a part of its own
      into = &result.compute[std::string(kind)];
    }
    into->count += share;
    into->seconds += static_cast<double>(event.duration_ns) * kSecond * share;
  }
}

void add_idle(const run::RankTrace& trace, double share, Measured& result) {
  const analysis::IdleCauses idle = analysis::idle_causes(trace);
  if (!result.idle_s) result.idle_s.emplace();
  const std::array<int64_t, 3> causes = {idle.launch_ns, idle.queued_ns, idle.unknown_ns};
  for (size_t i = 0; i < causes.size(); ++i)
    (*result.idle_s)[i] += static_cast<double>(causes[i]) * kSecond * share;
}

/// A trace without marks: its whole length is one step, and communication that nothing hides is
/// given to its kinds in proportion to their kernels' time.
void add_whole_trace(const run::RankTrace& trace, double share, run::Performance& sum) {
  const analysis::RankBreakdown whole = analysis::break_down(trace);
  Measured kernels;
  add_kernels(trace, 1, kernels);
  const double communication =
      base::sum(kernels.collectives, [](const auto& it) { return it.second.seconds; });
  const auto exposed = [&](const char* part) {
    const auto it = kernels.collectives.find(part);
    const double all = static_cast<double>(whole.exposed_communication_ns) * kSecond;
    return it == kernels.collectives.end() ? 0 : share * all * it->second.seconds / communication;
  };
  run::Breakdown& b = sum.breakdown_s;
  b.compute += share * static_cast<double>(whole.compute_ns + whole.exposed_memory_ns) * kSecond;
  b.exposed_all_reduce += exposed("exposed_all_reduce");
  b.exposed_all_gather += exposed("exposed_all_gather");
  b.exposed_reduce_scatter += exposed("exposed_reduce_scatter");
  b.exposed_all_to_all += exposed("exposed_all_to_all");
  b.exposed_send_recv += exposed("exposed_send_recv");
  b.idle += share * static_cast<double>(whole.idle_ns) * kSecond;
  sum.step_time_s += share * static_cast<double>(whole.span_ns) * kSecond;
}

/// The kernels of marked steps alone, or all of them.
void add_rank(const run::RankTrace& trace, double share, bool marked, Measured& result) {
  const analysis::StepTimes steps = analysis::step_times(trace);
  if (marked && steps.count > 0) {
    if (const auto chosen = analysis::select_steps(trace, {steps.first, steps.last})) {
      const double a_step = share / static_cast<double>(steps.count);
      add_kernels(*chosen, a_step, result);
      return add_idle(*chosen, a_step, result);
    }
  }
  add_kernels(trace, share, result);
  add_idle(trace, share, result);
}

/// The kernels of marked steps alone, of every rank.
std::vector<run::RankTrace> within_steps(const std::vector<run::RankTrace>& ranks) {
  std::vector<run::RankTrace> chosen;
  for (const run::RankTrace& trace : ranks) {
    const analysis::StepTimes steps = analysis::step_times(trace);
    auto some = analysis::select_steps(trace, {steps.first, steps.last});
    chosen.push_back(some ? std::move(*some) : trace);
  }
  return chosen;
}

void add_waiting(const std::vector<run::RankTrace>& ranks, Measured& result) {
  if (ranks.size() < 2) return;
  const analysis::ArrivalTable table =
      analysis::arrival_table(result.steps_marked ? within_steps(ranks) : ranks);
  if (table.matched == 0) return;
  result.waiting_s.emplace();
  const double share = kSecond / static_cast<double>(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto steps = static_cast<double>(
        result.steps_marked ? std::max<int64_t>(analysis::step_times(ranks[i]).count, 1) : 1);
    for (const auto& [kind, waiting_ns] : table.ranks[i].exposed_waiting_by_kind)
      (*result.waiting_s)[part_of(kind)] += static_cast<double>(waiting_ns) * share / steps;
  }
}

void add_telemetry(const run::DeviceLog& log, int64_t ranks, Measured& result) {
  const analysis::TelemetryReport told = analysis::analyze_telemetry(log);
  const auto gpus = static_cast<double>(
      std::max<int64_t>(ranks, std::ranges::count_if(told.devices, [](const auto& device) {
                          return device.kind == run::DeviceKind::kGpu;
                        })));
  const auto fact = [&](const char* name, const char* unit, double value, double error = 0) {
    result.facts.push_back({.name = name, .unit = unit, .a = value, .a_error = error});
  };
  if (told.power.known) {
    result.gpus_w = told.power.mean_w_per_gpu * gpus;
    result.gpus = static_cast<int64_t>(gpus);
    if (told.power.mean_error.stated) result.power_error = told.power.mean_error.relative();
    fact("mean_w_per_gpu", "W", told.power.mean_w_per_gpu, result.power_error);
    fact("peak_w_per_gpu", "W", told.power.peak_w_per_gpu);
  }
  if (!told.thermal.known) return;
  fact("mean_gpu_c", "C", told.thermal.mean_gpu_c);
  fact("max_gpu_c", "C", told.thermal.max_gpu_c);
  if (told.thermal.mean_clock_mhz) fact("mean_clock_mhz", "MHz", *told.thermal.mean_clock_mhz);
  if (told.thermal.throttled_time_fraction)
    fact("throttled_time_fraction", "", *told.thermal.throttled_time_fraction);
}

bool reads_power(const run::Device& device) {
  for (const auto metric : {run::Metric::kEnergy, run::Metric::kInstantPower, run::Metric::kPower,
                            run::Metric::kAveragePower})
    if (const run::Series* series = device.find(metric);
        series != nullptr && series->samples.size() >= 2)
      return device.kind == run::DeviceKind::kGpu;
  return false;
}

/// Telemetry as it was while the traces were taken, where power was read then; a job's start and
/// rests are in no step.
run::DeviceLog beside_traces(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log) {
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const run::RankTrace& trace : ranks)
    for (const run::GpuEvent& event : trace.events) {
      int64_t start = 0, end = 0;
      if (__builtin_add_overflow(trace.base_time_ns, event.start_ns, &start) ||
          __builtin_add_overflow(trace.base_time_ns, event.end_ns(), &end))
        continue;
      from = std::min(from, start);
      to = std::max(to, end);
    }
  if (from >= to) return log;
  run::DeviceLog part = run::readings_within(log, from, to);
  const bool read = std::ranges::any_of(part.devices, reads_power);
  return read ? part : log;
}

/// How long the GPUs were looked at, the longest of them, without the time that is in no energy.
double recorded_s(const run::DeviceLog& log) {
  double longest = 0;
  for (const auto& device : analysis::analyze_telemetry(log).devices) {
    if (device.kind != run::DeviceKind::kGpu) continue;
    std::vector<analysis::TimeSpan> unknown = device.gaps;
    unknown.insert(unknown.end(), device.resets.begin(), device.resets.end());
    longest = std::max(longest, analysis::length_s(analysis::without(
                                    {device.start_ns, device.end_ns}, std::move(unknown))));
  }
  return longest;
}

}  // namespace

Result<Measured> measure(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log,
                         const std::string& name) {
  Measured result;
  result.ranks = static_cast<int64_t>(ranks.size());
  if (ranks.empty()) {
    const analysis::LoggedSteps logged = analysis::logged_steps(log);
    const bool timed = logged.end_ns > 0;
    add_telemetry(timed ? run::readings_within(log, logged.start_ns, logged.end_ns) : log, 0,
                  result);
    result.steps_marked = logged.steps > 0;
    result.performance.step_time_s = logged.steps > 0 ? logged.median_s : recorded_s(log);
    // The mean power of the whole recording has start-up and rests in it.
    if (result.steps_marked && !timed) result.gpus_w.reset();
    if (result.performance.step_time_s > 0) return result;
    return input_error(
        "{}: holds neither traces of GPU work nor telemetry of GPUs nor a training program's steps "
        "(`ergometer analyze` shows what is there)",
        name);
  }
  const double share = 1 / static_cast<double>(ranks.size());
  const auto performance = analysis::step_breakdown(ranks);
  result.steps_marked = performance.has_value();
  if (performance) result.performance = *performance;
  for (const run::RankTrace& trace : ranks) {
    if (!performance) add_whole_trace(trace, share, result.performance);
    add_rank(trace, share, result.steps_marked, result);
  }
  add_waiting(ranks, result);
  add_telemetry(beside_traces(ranks, log), result.ranks, result);
  return result;
}

Measured measure(const run::Run& run, const std::vector<run::RankTrace>& sampled, int64_t gpus) {
  Measured result;
  result.steps_marked = true;
  result.ranks = static_cast<int64_t>(sampled.size());
  result.performance = run.performance;
  for (const run::RankTrace& trace : sampled)
    add_kernels(trace, 1 / static_cast<double>(sampled.size()), result);
  if (!run.has_power) return result;
  result.gpus_w = run.power.mean_w_per_gpu * static_cast<double>(gpus);
  result.gpus = gpus;
  const auto range = [](const run::Interval& of) { return Range{of.low, of.high}; };
  result.gpu_energy_j = range(run.power.gpu_energy_interval_j);
  result.facts = {
      {"mean_w_per_gpu", "W", run.power.mean_w_per_gpu, 0, range(run.power.mean_interval_w)},
      {"peak_w_per_gpu", "W", run.power.peak_w_per_gpu, 0, range(run.power.peak_interval_w)},
      {"mean_gpu_c", "C", run.thermal.mean_gpu_c, 0, range(run.thermal.mean_interval_c)},
      {"max_gpu_c", "C", run.thermal.max_gpu_c, 0, range(run.thermal.max_interval_c)},
      {"mean_clock_mhz", "MHz", run.thermal.mean_clock_mhz, 0,
       range(run.thermal.clock_interval_mhz)},
      {"throttled_time_fraction", "", run.thermal.throttled_time_fraction, 0}};
  return result;
}

namespace {

/// The first ranks of every stage, side by side: whole nodes and whole groups of experts.
std::vector<int64_t> told_ranks(const spec::Job& job) {
  constexpr int64_t kMost = 64;
  const int64_t stages = job.parallelism.pp, of_stage = job.stage_ranks();
  const int64_t count = std::clamp(kMost / stages, int64_t{1}, of_stage);
  std::vector<int64_t> ranks;
  for (int64_t stage = 0; stage < stages; ++stage)
    for (int64_t i = 0; i < count; ++i) ranks.push_back(stage * of_stage + i);
  return ranks;
}

struct Told {
  run::Run run;
  std::vector<run::RankTrace> traces;
};

Result<Told> tell(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  engine::SimulateOptions options;
  options.sampled_ranks = told_ranks(job);
  Told told;
  ERGOMETER_ASSIGN(told.run, engine::simulate(job, options));
  told.traces = analysis::simulated_traces(told.run, {p.tp, p.cp, p.dp, p.pp, p.ep, p.etp});
  return told;
}

}  // namespace

Result<Measured> measure(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Told told, tell(job));
  return measure(told.run, told.traces, job.gpus);
}

Result<Measured> measure_as_recorded(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Told told, tell(job));
  Measured result = measure(told.run, told.traces, job.gpus);
  if (const auto seen = analysis::step_breakdown(told.traces))
    result.performance.breakdown_s = seen->breakdown_s;
  add_waiting(told.traces, result);
  return result;
}

}  // namespace ergometer::compare
