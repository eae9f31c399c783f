#include "analysis/trace/step_breakdown.h"

#include <algorithm>
#include <array>

#include "analysis/math/intervals.h"
#include "analysis/trace/steps.h"
#include "analysis/work/collective_kind.h"
#include "analysis/work/kernel_class.h"
#include "base/collection.h"
#include "run/row_columns.h"

namespace ergometer::analysis {
namespace {

enum Part {
  kCompute,
  kOptimizer,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kSendRecv,
  kCopies,
  kParts
};

Part part_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return kAllReduce;
    case CollectiveKind::kAllGather: return kAllGather;
    case CollectiveKind::kReduceScatter: return kReduceScatter;
    case CollectiveKind::kAllToAll: return kAllToAll;
    default: return kSendRecv;
  }
}

/// The part of every name; communication is decided by the event, for RCCL's name says nothing.
std::vector<Part> parts_of_names(const run::RankTrace& trace) {
  std::vector<Part> parts;
  for (const std::string& name : trace.names) {
    const bool optimizer = kernel_class(name, run::GpuClass::kCompute) == "optimizer";
    parts.push_back(optimizer ? kOptimizer : kCompute);
  }
  return parts;
}

Part part_of(const run::RankTrace& trace, const run::GpuEvent& event,
             const std::vector<Part>& of_names) {
  if (event.kind == run::GpuClass::kMemory) return kCopies;
  if (event.kind == run::GpuClass::kCompute) return of_names[event.name];
  const bool known = event.collective != run::GpuEvent::kNone;
  return part_of(
      collective_kind(known ? trace.collectives[event.collective].name : trace.names[event.name]));
}

void add(run::Breakdown& sum, const std::array<double, kParts>& seconds, double step_s) {
  sum.compute += seconds[kCompute] + seconds[kCopies];
  sum.optimizer += seconds[kOptimizer];
  sum.exposed_all_reduce += seconds[kAllReduce];
  sum.exposed_all_gather += seconds[kAllGather];
  sum.exposed_reduce_scatter += seconds[kReduceScatter];
  sum.exposed_all_to_all += seconds[kAllToAll];
  sum.exposed_send_recv += seconds[kSendRecv];
  const double busy = base::sum(seconds);
  sum.idle += std::max(step_s - busy, 0.0);
}

void scale(run::Breakdown& b, double factor) {
  run::kBreakdownColumns.for_each([&](std::string_view, auto part) { b.*part *= factor; });
}

/// Of every part, when GPU events were at it.
using Pieces = std::array<std::vector<Interval>, kParts>;

Pieces pieces_of(const run::RankTrace& trace) {
  const std::vector<Part> of_names = parts_of_names(trace);
  Pieces pieces;
  for (const run::GpuEvent& event : trace.events)
    pieces[part_of(trace, event, of_names)].push_back({event.start_ns, event.end_ns()});
  return pieces;
}

/// What of it lies within the marked steps.
Pieces within_marks(const Pieces& pieces, const std::vector<run::StepMark>& steps) {
  Pieces within;
  for (size_t part = 0; part < kParts; ++part)
    for (const Interval& piece : pieces[part])
      for (const run::StepMark& step : steps) {
        const Interval common{std::max(piece.start_ns, step.start_ns),
                              std::min(piece.end_ns, step.end_ns)};
        if (common.start_ns < common.end_ns) within[part].push_back(common);
      }
  return within;
}

/// Seconds a step that each part has to itself.
std::array<double, kParts> exposed_parts(Pieces pieces, int64_t steps) {
  std::array<double, kParts> seconds{};
  Intervals so_far;
  for (size_t part = 0; part < kParts; ++part) {
    Intervals with = unite(so_far, unite(std::move(pieces[part])));
    seconds[part] =
        static_cast<double>(length(with) - length(so_far)) * 1e-9 / static_cast<double>(steps);
    so_far = std::move(with);
  }
  return seconds;
}

/// Steps that follow each other, first and last of each such series.
std::vector<StepRange> series_of(const run::RankTrace& trace) {
  std::vector<StepRange> series;
  for (const run::StepMark& step : trace.steps) {
    const bool goes_on = !series.empty() && step.number >= series.back().first &&
                         step.number <= series.back().last + 1;
    if (!goes_on) series.push_back({step.number, step.number});
    series.back().last = std::max(series.back().last, step.number);
  }
  return series;
}

void add_work(const run::RankTrace& trace, std::vector<StepStretch>& stretches) {
  if (trace.events.empty()) return;
  StepStretch work{INT64_MAX, INT64_MIN, static_cast<int64_t>(trace.steps.size())};
  for (const run::GpuEvent& event : trace.events) {
    work.start_ns = std::min(work.start_ns, event.start_ns);
    work.end_ns = std::max(work.end_ns, event.end_ns());
  }
  stretches.push_back(work);
}

/// The CPU marks steps, and it may run ahead of a GPU that is the slower of the two.
std::vector<StepStretch> gpu_work(const run::RankTrace& trace) {
  const std::vector<StepRange> series = series_of(trace);
  std::vector<StepStretch> stretches;
  if (series.size() == 1) add_work(trace, stretches);
  for (size_t i = 0; series.size() > 1 && i < series.size(); ++i)
    if (const auto some = select_steps(trace, series[i])) add_work(*some, stretches);
  return stretches;
}

double gpu_step_s(const run::RankTrace& trace, int64_t steps) {
  int64_t span_ns = 0;
  for (const StepStretch& work : gpu_work(trace)) span_ns += work.end_ns - work.start_ns;
  return static_cast<double>(span_ns) * 1e-9 / static_cast<double>(steps);
}

/// Whether the GPU still worked off what was launched before the recording began when the first
/// step was marked: what was launched within the steps then fills only a part of them.
bool starts_behind(const run::RankTrace& trace, const run::RankTrace& chosen) {
  if (chosen.events.empty()) return false;
  const int64_t marked_ns = chosen.steps.front().start_ns;
  const int64_t own_ns = std::ranges::min(chosen.events, {}, &run::GpuEvent::start_ns).start_ns;
  return std::ranges::any_of(trace.events, [&](const run::GpuEvent& event) {
    return event.start_ns < own_ns && event.end_ns() > marked_ns;
  });
}

}  // namespace

std::vector<StepStretch> step_stretches(const run::RankTrace& trace) {
  constexpr double kAhead = 1.1;  // assumed: a step's last kernels end behind its mark in any trace
  const StepTimes times = step_times(trace);
  if (times.count == 0) return {};
  const auto chosen = select_steps(trace, {times.first, times.last});
  if (chosen && gpu_step_s(*chosen, times.count) > kAhead * times.mean_s) return gpu_work(*chosen);
  return base::mapped(trace.steps, [](const run::StepMark& step) {
    return StepStretch{step.start_ns, step.end_ns, 1};
  });
}

std::optional<run::Performance> step_breakdown(const std::vector<run::RankTrace>& ranks) {
  run::Performance performance;
  double recorded = 0;
  for (const run::RankTrace& trace : ranks) {
    // A pipeline's tasks alone do not say what GPUs did in them.
    if (trace.events.empty() && !trace.tasks.empty()) return std::nullopt;
    if (trace.events.empty()) continue;
    ++recorded;
    const StepTimes times = step_times(trace);
    if (times.count == 0) return std::nullopt;
    const auto chosen = select_steps(trace, {times.first, times.last});
    if (!chosen) return std::nullopt;
    const double gpu_s = gpu_step_s(*chosen, times.count);
    const double step_s = std::max(times.mean_s, gpu_s);
    const bool by_time = times.mean_s >= gpu_s && starts_behind(trace, *chosen);
    Pieces pieces = by_time ? within_marks(pieces_of(trace), chosen->steps) : pieces_of(*chosen);
    performance.step_time_s += step_s;
    add(performance.breakdown_s, exposed_parts(std::move(pieces), times.count), step_s);
  }
  if (recorded == 0) return std::nullopt;
  const double mean = 1 / recorded;
  performance.step_time_s *= mean;
  performance.step_time_s_low = performance.step_time_s_high = performance.step_time_s;
  scale(performance.breakdown_s, mean);
  return performance;
}

}  // namespace ergometer::analysis
