#pragma once

#include <cstdint>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Why a rank's GPU was idle: what the event that ended each gap had waited for. The first three
/// sum to idle_ns of the breakdown.
struct IdleCauses {
  int64_t launch_ns = 0;   ///< its launch had not yet been called: the CPU was late
  int64_t queued_ns = 0;   ///< it had been launched: launch latency, or it waited for other work
  int64_t unknown_ns = 0;  ///< its launch is not in the trace

  /// Part of launch_ns: the CPU was late because it had waited for this GPU (a synchronising call,
  /// a copy that blocks) until the GPU had nothing left to do.
  int64_t synchronized_ns = 0;
  /// Part of queued_ns: from the late call to the start of its event.
  int64_t latency_ns = 0;
  int64_t late_events = 0;  ///< that ended a gap which was there when they were launched
};

IdleCauses idle_causes(const run::RankTrace& trace);

}  // namespace ergometer::analysis
