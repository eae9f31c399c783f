#pragma once

#include <cstdint>
#include <map>

#include "analysis/math/intervals.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What CPU threads did within given times, by the innermost call, operator or range.
struct CpuActivity {
  int64_t launching_ns = 0, loading_ns = 0;
  std::map<uint32_t, int64_t> named_ns;  ///< by name: whatever else the trace knows
};

/// `times`: of every thread, in order, none overlapping. A trace that does not know the threads of
/// its launches (-1) is taken as if all ran on one.
CpuActivity cpu_activity(const run::RankTrace& trace, const std::map<int64_t, Intervals>& times);

}  // namespace ergometer::analysis
