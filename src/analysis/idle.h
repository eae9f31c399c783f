#pragma once

#include <cstdint>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Why a rank's GPU was idle: what the event that ended each gap had waited for. Sums to idle_ns of
/// the breakdown.
struct IdleCauses {
  int64_t launch_ns = 0;   ///< its launch had not yet been called: the CPU was late
  int64_t queued_ns = 0;   ///< it had been launched: launch latency, or it waited for other work
  int64_t unknown_ns = 0;  ///< its launch is not in the trace
};

IdleCauses idle_causes(const run::RankTrace& trace);

}  // namespace ergometer::analysis
