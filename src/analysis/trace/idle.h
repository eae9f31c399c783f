#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// Why a rank's GPU was idle: what the event that ended each gap had waited for. The first three
/// sum to idle_ns of the breakdown.
struct IdleCauses {
  int64_t launch_ns = 0;   ///< its launch had not yet been called: the CPU was late
  int64_t queued_ns = 0;   ///< it had been launched: launch latency, or it waited for other work
  int64_t unknown_ns = 0;  ///< its launch is not in the trace

  /// launch_ns by what the thread that launched did meanwhile. They sum to it. Nested calls count
  /// as the innermost, but whatever data loading calls is data loading.
  int64_t synchronized_ns = 0;  ///< it still waited for this GPU (a synchronising call, a copy that
                                ///< blocks), as it did when the GPU ran dry
  int64_t launching_ns = 0;     ///< in calls that launch, none longer than kLongestLaunchNs
  int64_t loading_ns = 0;       ///< in what the trace calls data loading
  int64_t elsewhere_ns = 0;     ///< else
  /// elsewhere_ns by operator, range or call, where the trace names it; the longest first.
  std::vector<std::pair<std::string, int64_t>> elsewhere;

  /// Part of queued_ns: from the late call to the start of its event.
  int64_t latency_ns = 0;
  /// Part of queued_ns: in launch calls longer than kLongestLaunchNs.
  int64_t long_launch_ns = 0;
  int64_t late_events = 0;  ///< that ended a gap which was there when they were launched
};

/// A launch takes 2 to 50 us; one that takes more than this loads the kernel's code, stages a copy
/// or makes a context. Assumed.
inline constexpr int64_t kLongestLaunchNs = 1'000'000;

IdleCauses idle_causes(const run::RankTrace& trace);

/// Whether one of a trace's `waits` waits for the GPU: others only take long.
bool waits_for_gpu(const run::RankTrace& trace, const run::Launch& wait);

}  // namespace ergometer::analysis
