#pragma once

#include <cstdint>
#include <string>

#include "analysis/math/intervals.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Where one rank's time goes, exact. Every number but the span is the length of a union of
/// intervals, so work on several streams at once counts once.
struct RankBreakdown {
  int64_t rank = 0;
  std::string file;
  int64_t gpu_events = 0;
  int64_t span_ns = 0;  ///< from the first start to the last end
  int64_t busy_ns = 0;  ///< any GPU event
  int64_t idle_ns = 0;  ///< span minus busy
  int64_t compute_ns = 0, communication_ns = 0, memory_ns = 0;
  int64_t overlap_ns = 0;                ///< compute and communication at once
  int64_t exposed_communication_ns = 0;  ///< communication without compute
  int64_t exposed_memory_ns = 0;         ///< copies and sets without either
};

RankBreakdown break_down(const run::RankTrace& trace);

/// When a compute kernel runs.
Intervals compute_intervals(const run::RankTrace& trace);

}  // namespace ergometer::analysis
