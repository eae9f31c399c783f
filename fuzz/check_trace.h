#pragma once

#include <cstdlib>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "run/gpu_trace.h"

inline void check(const ergometer::analysis::RankSummary& rank) {
  const auto& b = rank.breakdown;
  if (b.gpu_events < 0 || b.span_ns < b.busy_ns || b.idle_ns != b.span_ns - b.busy_ns) std::abort();
  if (b.compute_ns < b.overlap_ns || b.exposed_communication_ns < 0 || b.exposed_memory_ns < 0)
    std::abort();
  if (b.busy_ns != b.compute_ns + b.exposed_communication_ns + b.exposed_memory_ns) std::abort();
  if (rank.idle.launch_ns < 0 || rank.idle.queued_ns < 0) std::abort();
  const auto& late = rank.idle;
  int64_t parts_ns = 0;
  for (const int64_t part :
       {late.synchronized_ns, late.launching_ns, late.loading_ns, late.elsewhere_ns}) {
    if (part < 0) std::abort();
    parts_ns += part;
  }
  if (parts_ns != late.launch_ns) std::abort();
  if (late.long_launch_ns < 0 || late.long_launch_ns > late.queued_ns) std::abort();
  if (rank.idle.launch_ns + rank.idle.queued_ns + rank.idle.unknown_ns != b.idle_ns) std::abort();
}

/// What every reader of traces promises, and a breakdown that adds up.
inline void check(const std::vector<ergometer::run::RankTrace>& traces) {
  for (const auto& trace : traces) {
    for (const auto& event : trace.events)
      if (event.duration_ns < 0 || event.name >= trace.names.size()) std::abort();
    for (const auto& range : trace.ranges)
      if (range.duration_ns < 0 || range.name >= trace.names.size()) std::abort();
    for (size_t i = 1; i < trace.launches.size(); ++i)
      if (trace.launches[i].correlation < trace.launches[i - 1].correlation) std::abort();
    for (size_t i = 1; i < trace.steps.size(); ++i)
      if (trace.steps[i].start_ns < trace.steps[i - 1].start_ns) std::abort();
    for (const auto& dropped : trace.dropped)
      if (dropped.count <= 0 || dropped.reason.empty()) std::abort();
  }
  for (const auto& rank : ergometer::analysis::summarize(traces).ranks) check(rank);
}
